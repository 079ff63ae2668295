"""AgentCore: state of an agent, its queues and subscribers, and how a run is started and stopped."""

from __future__ import annotations

import tempfile
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import Literal, TypeVar

from harness.agent.hook_chain import HookChain
from harness.agent.limits import Meter
from harness.agent.model_name import model_of
from harness.agent.options import AgentOptions
from harness.agent.prompt import Prompt, user_messages
from harness.agent.result import AgentResult
from harness.agent.run import Initial, Permissions, Run, RunRequest, State
from harness.agent.run_lifecycle import RunLifecycle
from harness.agent.subagents.spawn import SpawnContext, Subagent, with_delegate
from harness.approval.pending import PendingRequests
from harness.approval.rules import Grants
from harness.concurrency.blocking import run_blocking
from harness.concurrency.threads import Flag
from harness.context.history import History
from harness.errors import AlreadyRunning
from harness.events import Event, Notice
from harness.execution.cache import ResultCache
from harness.function_tools.tool_list import ToolLike, tool_list
from harness.identity import Identity
from harness.inbox import Inbox
from harness.jobs import Jobs
from harness.messages import AssistantMessage, Message, Text, UserMessage, new_id
from harness.ports.provider import Model
from harness.ports.tool import Tool
from harness.publishing.bus import Bus, Subscriber
from harness.publishing.channel import Listener
from harness.workspace.workspace import Workspace

T = TypeVar("T")


class AgentCore:
    """Base class of `Agent`; use that."""

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
        self._lifecycle: RunLifecycle | None = None
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
        if self._lifecycle is not None:
            self._lifecycle.abort()

    def interrupt(self) -> bool:
        """Interrupt the turn that is on, so that the next queued steering message is delivered at once.

        The reply is cut off where it is; running tool calls are cancelled and keep their output, those that have not
        begun are skipped. The run goes on with the message. With nothing queued a run goes on with the results of its
        calls, and ends as with `abort` where only a reply was interrupted. From any thread.

        Returns:
            False when no turn is on.
        """
        return self.inbox.interruption.request()

    def cancel_call(self, call_id: str, session_id: str = "") -> bool:
        """Stop one call that runs, whether this agent made it or a sub-agent of it, with all that it started; the
        others of its reply go on, and the model is told that the person cancelled it. Whether there was one. From any
        thread, as `abort`.

        `session_id` is that of the agent that made it, as its events tell: models of several agents may give the same
        ids.
        """
        return self.state.calls.cancel(call_id, session_id)

    def background_call(self, call_id: str) -> bool:
        """Let the command that a running call waits for go on in the background, so that the agent goes on; whether
        there is one. From any thread, as `abort`."""
        return self.jobs.move(call_id)

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

    def listen(self, capacity: int = 256) -> Listener:
        """What happens from now on, in this and later runs, for one consumer that may lag behind; ends with `close`."""
        return self._bus.listen(capacity)

    def notify(self, text: str, level: Literal["info", "warning", "error"] = "info") -> None:
        """Publish a notice to all subscribers."""
        self.publish(Notice(text=text, level=level))

    def publish(self, event: Event) -> None:
        """Tell all subscribers of something; the header is filled in."""
        self._bus.publish(event)

    def add_reminder(self, text: str) -> None:
        """Tell the model something of the program's, before the next reply. It begins no run."""
        self.inbox.reminders.put(UserMessage((Text(text),), synthetic=True))

    async def close(self) -> None:
        """Stop what is on, let go of connections, and tell those who listen that nothing more comes."""
        await self._release()
        self._bus.close()

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
            self._lifecycle = RunLifecycle(self._new_run(entry), self.identity, parent)
            return await self._lifecycle.execute()
        finally:
            self._lifecycle = None
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
        return with_delegate(run, self.spawn_context, self._make_subagent)

    def _make_subagent(
        self, model: Model, tools: Sequence[Tool], system_prompt: str, options: AgentOptions
    ) -> Subagent:
        raise NotImplementedError
