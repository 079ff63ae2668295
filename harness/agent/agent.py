"""What outlives a run: prompt, steer, follow up, abort, continue, modes, subscribe."""

from __future__ import annotations

import tempfile
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from types import TracebackType
from typing import Literal, TypeVar

from harness.agent.conversation import (
    append_messages,
    clear_messages,
    replace_messages,
    reset,
    restore_messages,
    save_messages,
)
from harness.agent.cost import Ledger
from harness.agent.hook_chain import HookChain
from harness.agent.inbox import Inbox
from harness.agent.limits import Meter
from harness.agent.model_name import model_of
from harness.agent.options import AgentOptions
from harness.agent.prompt import Prompt, messages_of, user_messages
from harness.agent.result import AgentResult
from harness.agent.run import Initial, Permissions, Run, RunRequest, State
from harness.agent.run_lifecycle import RunLifecycle
from harness.agent.settings import (
    add_tool,
    remove_tool,
    set_mode,
    set_model,
    set_system_prompt,
    set_thinking,
    set_tools,
)
from harness.agent.side_question import ask_side_question
from harness.agent.stream import RunStream
from harness.agent.structured import prompt_structured, prompt_structured_sync
from harness.approval.pending import PendingRequests
from harness.approval.rules import Grants
from harness.concurrency.blocking import run_blocking
from harness.concurrency.threads import Flag
from harness.context.history import History
from harness.continuation import Continuation
from harness.errors import AlreadyRunning, InvalidContinue, NoMessages
from harness.events import Event, Notice
from harness.execution.cache import ResultCache
from harness.execution.jobs import Jobs, background_call
from harness.execution.running import cancel_call
from harness.function_tools.tool_list import ToolLike, tool_list
from harness.identity import Identity
from harness.messages import AssistantMessage, JsonObject, Message, Text, UserMessage, new_id
from harness.ports.provider import Model
from harness.publishing.bus import Bus, Subscriber
from harness.publishing.channel import Listener
from harness.subagents.spawn import SpawnContext, with_delegate
from harness.workspace.workspace import Workspace

T = TypeVar("T")


class Agent:
    """A conversation with a model that can use tools. One run at a time; constructing one does no I/O.

    A model may be given by its name, and a tool as a function with type hints.

    Raises:
        ConfigError: two tools have the same name, something in `tools` is no tool, or there is no such model.
    """

    def __init__(
        self,
        model: Model | str,
        tools: Sequence[ToolLike] = (),
        system_prompt: str = "You are a helpful assistant.",
        options: AgentOptions = AgentOptions(),
    ) -> None:
        self.options = options
        self.history = History(options.messages)
        self.inbox = Inbox(options.steering, options.follow_up)
        self.identity = Identity(session_id=options.session_id or new_id(), config_id=options.config_id)
        self.initial = Initial(model_of(model), tool_list(tools), system_prompt)
        self.state = State(
            model=self.initial.model,
            tools=self.initial.tools,
            system_prompt=system_prompt,
            permissions=Permissions(options.mode, options.approval, options.grants or Grants()),
            jobs=Jobs(self.publish, self.inbox.news),
        )
        self.state.max_tokens = options.max_tokens
        self._bus = Bus(self.identity.session_id)
        if isinstance(options.user, PendingRequests):
            self._bus.subscribe(options.user.observe)
        self._cache = ResultCache(options.execution.cache_entries, options.execution.cache_turns)
        self._workspace = options.workspace
        self.spawn_context: SpawnContext | None = None
        self._conductor: RunLifecycle | None = None
        self._idle = Flag(is_raised=True)

    @property
    def agent_id(self) -> str:
        return self.identity.agent_id

    @property
    def session_id(self) -> str:
        return self.identity.session_id

    @property
    def is_running(self) -> bool:
        return not self._idle

    @property
    def messages(self) -> tuple[Message, ...]:
        """The history; a reply in progress is not part of it yet."""
        return self.history.messages

    @property
    def streaming_message(self) -> AssistantMessage | None:
        """The reply in progress, as far as it has been received; None while no reply is streamed."""
        return self.state.reply.partial() if self.state.reply else None

    @property
    def pending_tool_calls(self) -> frozenset[str]:
        """Ids of the tool calls that are running, or allowed and waiting for another one to end."""
        return self.state.calls.ids(self.session_id)

    @property
    def last_error(self) -> str | None:
        """The error that ended the last run; None if it did not fail, or while a run is active."""
        return self.state.last_error

    def ensure_idle(self) -> None:
        """Raises:
        AlreadyRunning: A run is active.
        """
        if self.is_running:
            raise AlreadyRunning("a run is on: steer it, queue a follow-up, or abort it")

    @property
    def has_pending(self) -> bool:
        """Whether something said waits to be heard."""
        return bool(self.inbox)

    @property
    def workspace(self) -> Workspace:
        if self._workspace is None:
            self._workspace = Workspace(Path.cwd())
        return self._workspace

    @property
    def jobs(self) -> Jobs:
        """What goes on in the background."""
        return self.state.jobs

    async def prompt(self, prompt: Prompt, *, metadata: JsonObject | None = None) -> AgentResult:
        """Send a prompt and wait for the run to end. A failed or aborted run is a result, not an exception.

        `metadata` is published with `AgentStart` and given to the provider with each request of the run.

        Raises:
            AlreadyRunning: a run is on; `steer` or `follow_up` instead.
            NoMessages: the prompt is an empty list.
        """
        return await self.run(RunRequest(messages_of(prompt), trigger=self.identity.origin, metadata=metadata or {}))

    async def continue_run(
        self, continuation: Continuation = Continuation(), *, metadata: JsonObject | None = None
    ) -> AgentResult:
        """Let the model go on from where the history stands, with what is queued. A reply that failed or was aborted
        is no last word: the model is asked again.

        Raises:
            AlreadyRunning: a run is on.
            NoMessages: there is nothing to go on from.
            InvalidContinue: the last word is the assistant's and nothing is queued.
        """
        self.ensure_idle()
        if not len(self.history):
            raise NoMessages("there is no conversation to continue")
        if self.history.at_rest and not self.has_pending:
            raise InvalidContinue("the last message is the assistant's: prompt instead")
        return await self.run(RunRequest(continuation=continuation.tagged(), metadata=metadata or {}))

    def stream(self, prompt: Prompt | Continuation, *, metadata: JsonObject | None = None) -> RunStream:
        """Say something, or go on, and read what happens, up to and including `AgentEnd`; speak to the run meanwhile.

        Leaving early aborts the run. That another run is on is told when the first event is asked for.
        """
        return RunStream(self, prompt, metadata)

    def listen(self, capacity: int = 256) -> Listener:
        """What happens from now on, in this and later runs, for one consumer that may lag behind; ends with `close`."""
        return self._bus.listen(capacity)

    def prompt_sync(self, prompt: Prompt, *, metadata: JsonObject | None = None) -> AgentResult:
        """Say something and wait; needs no event loop, and works beside one that is running in this thread.

        Interrupted (Ctrl+C), it aborts the run and lets the interruption pass.
        """
        return self.blocking(lambda: self.prompt(prompt, metadata=metadata))

    def continue_sync(self, continuation: Continuation = Continuation()) -> AgentResult:
        """`continue_run`, waiting as `prompt_sync` does."""
        return self.blocking(lambda: self.continue_run(continuation))

    prompt_structured = prompt_structured
    prompt_structured_sync = prompt_structured_sync
    ask_side_question = ask_side_question
    cancel_call = cancel_call
    background_call = background_call

    def steer(self, prompt: Prompt) -> None:
        """Send a message to the run that is on. It is delivered at the next turn; `options.steering_mode` says what
        becomes of running tool calls, and `interrupt` delivers it at once. From any thread, as `follow_up`,
        `take_back`, `interrupt` and `abort`; everything else belongs to the thread of the event loop."""
        for message in user_messages(prompt):
            self.inbox.steering.put(message)

    def follow_up(self, prompt: Prompt) -> None:
        """Say something once the run has ended well."""
        for message in user_messages(prompt):
            self.inbox.follow_up.put(message)

    def drain_queues(self) -> tuple[UserMessage, ...]:
        """Empty both queues; hands back what was in them. `inbox.steering.clear()` empties one."""
        return self.inbox.steering.clear() + self.inbox.follow_up.clear()

    def abort(self) -> None:
        """Stop the run that is on, if one is; what was said and done so far stays."""
        if self._conductor is not None:
            self._conductor.abort()

    def interrupt(self) -> bool:
        """Interrupt the turn that is on, so that the next queued steering message is delivered at once.

        The reply is cut off where it is; running tool calls are cancelled and keep their output, those that have not
        begun are skipped. The run goes on with the message. With nothing queued a run goes on with the results of its
        calls, and ends as with `abort` where only a reply was interrupted. From any thread.

        Returns:
            False when no turn is on.
        """
        return self.inbox.interruption.request()

    def retry_now(self) -> bool:
        """Ask again at once where the run waits to; whether it did."""
        return self.state.pause.cut()

    async def wait_until_idle(self) -> None:
        """Return when no run is on."""
        await self._idle.wait()

    def subscribe(self, subscriber: Subscriber) -> Callable[[], None]:
        """Call `subscriber` with every event, in order, until the returned function is called.

        Raises:
            ConfigError: it is async; `listen` hands out events to await.
        """
        return self._bus.subscribe(subscriber)

    def notify(self, text: str, level: Literal["info", "warning", "error"] = "info") -> None:
        """Publish a notice to all subscribers."""
        self.publish(Notice(text=text, level=level))

    def publish(self, event: Event) -> None:
        """Tell all subscribers of something; the header is filled in."""
        self._bus.publish(event)

    set_model = set_model
    set_thinking = set_thinking
    set_mode = set_mode
    set_system_prompt = set_system_prompt
    set_tools = set_tools
    add_tool = add_tool
    remove_tool = remove_tool
    replace_messages = replace_messages
    append_messages = append_messages
    clear_messages = clear_messages
    save_messages = save_messages
    restore_messages = restore_messages
    reset = reset

    def new_session(self, session_id: str = "", messages: Sequence[Message] = ()) -> str:
        """Begin another conversation, or go on with `messages`; trust given for the session ends. Its id.

        Raises:
            AlreadyRunning: a run is on.
        """
        self.ensure_idle()
        self.history.replace(messages)
        self.state.ledger = Ledger()
        self.state.budget = 0
        for each in messages:
            if isinstance(each, AssistantMessage):
                self.state.ledger.add(f"{each.provider}/{each.model}", each.usage)
        self.state.grants.untrust(None)
        self._cache.clear()
        self._bus.session_id = self.identity.rotate(session_id)
        self._bus.turn = 0
        return self.session_id

    def rotate_session_if_idle(self, idle_seconds: float) -> str | None:
        """Begin another session, with the same conversation, when no run began for so long; its id if it did.

        Raises:
            AlreadyRunning: a run is on.
        """
        idle = self.identity.idle_for()
        if idle is None or idle <= idle_seconds:
            return None
        return self.new_session(messages=self.history.messages)

    async def close(self) -> None:
        """Stop what is on, let go of connections, and tell those who listen that nothing more comes."""
        await self._release()
        self._bus.close()

    async def __aenter__(self) -> Agent:
        """Closed at the end of the block."""
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        await self.close()

    async def _release(self) -> None:
        self.abort()
        await self.wait_until_idle()
        await self.jobs.close()
        routed = self.options.routing.models if self.options.routing else ()
        former, self.state.former_models = self.state.former_models, []
        for model in (self.state.model, *former, *self.options.fallback, *routed):
            await model.provider.close()

    async def run(self, entry: RunRequest) -> AgentResult:
        """A run that begins as `entry` says; `prompt` and `continue_run` are the usual ways to it.

        Raises:
            AlreadyRunning: a run is on.
        """
        self.ensure_idle()
        parent = self.identity.parent_run_id if entry.continuation is None else self.identity.last_run_id
        self._bus.run_id = entry.run_id or self.identity.next_loop(self.state.model.spec)
        self.state.last_error = None
        self._idle.drop()
        try:
            self._conductor = RunLifecycle(self._new_run(entry), self.identity, parent)
            return await self._conductor.execute()
        finally:
            self._conductor = None
            self._idle.lift()

    def blocking(self, work: Callable[[], Awaitable[T]]) -> T:
        """What some work with this agent comes to, waited for as `prompt_sync` does; connections are let go."""

        async def once() -> T:
            try:
                return await work()
            finally:
                # A run that is on now is another's, which was there first.
                if not self.is_running:
                    await self._release()

        return run_blocking(once, self.abort)

    def _new_run(self, entry: RunRequest) -> Run:
        options = self.options
        run = Run(
            state=self.state,
            bus=self._bus,
            history=self.history,
            inbox=self.inbox,
            meter=Meter(options.limits),
            options=options,
            user=options.user,
            workspace=self.workspace,
            spill_dir=options.spill_dir or Path(tempfile.gettempdir()) / f"cinch-{self.session_id}",
            hooks=HookChain(options.hooks, self._bus, self.add_reminder),
            cache=self._cache,
            request=entry,
            start_index=len(self.history),
        )
        return with_delegate(run, self.spawn_context, Agent)

    def add_reminder(self, text: str) -> None:
        """Tell the model something of the program's, before the next reply. It begins no run."""
        self.inbox.reminders.put(UserMessage((Text(text),), synthetic=True))
