"""AgentBase: state of an agent, its queues and subscribers, and how a run is started and stopped."""

from __future__ import annotations

import asyncio
import logging
import tempfile
from collections.abc import Awaitable, Callable, Sequence
from copy import copy
from functools import cached_property
from pathlib import Path
from typing import Literal, TypeVar

from harness.agent.arguments import Prompt, ToolLike, model_of, tool_list, user_messages
from harness.agent.identity import Identity
from harness.agent.limits import Meter
from harness.agent.options import AgentOptions
from harness.agent.run_lifecycle import RunLifecycle
from harness.agent.run_state import AgentResult, Run, RunRequest, State
from harness.agent.subagents.limits import SpawnContext
from harness.approval.modes import Mode
from harness.approval.pending import PendingRequests
from harness.approval.policy import Permissions, policy_of
from harness.approval.store import RuleStore
from harness.concurrency import Flag, run_blocking
from harness.context.history import History
from harness.errors import AlreadyRunning
from harness.events import Event, JobEnded, ModeChanged, ModelChanged, Notice
from harness.execution.cache import ResultCache
from harness.inbox import Inbox
from harness.jobs import Jobs
from harness.messages import AssistantMessage, Message, UserMessage, new_id, synthetic
from harness.ports.hooks import HookChain
from harness.ports.provider import Model
from harness.publishing import Bus, Drain, Listener, Subscriber
from harness.workspace.workspace import Workspace

logger = logging.getLogger(__name__)

T = TypeVar("T")


class AgentBase:
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
        self.state = State(
            model=model_of(model),
            tools=tool_list(tools),
            system_prompt=system_prompt,
            permissions=Permissions(
                options.mode, options.approval, options.grants or RuleStore(), policy_of(options.permissions)
            ),
            max_tokens=options.max_tokens,
            jobs=Jobs(self._publish_of_job, self.inbox.news),
            dialect=options.dialect,
        )
        self.state.jobs.name_of = self.state.name_of
        self._initial = copy(self.state)
        self._bus = Bus(self.identity.session_id)
        if isinstance(options.user, PendingRequests):
            self._bus.subscribe(options.user.observe)
        self._cache = ResultCache(options.execution.cache_entries, options.execution.cache_turns)
        self.spawn_context: SpawnContext | None = None
        self._lifecycle: RunLifecycle | None = None
        self._closers: list[Callable[[], Awaitable[None]]] = []
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
        """History, without a reply in progress."""
        return self.history.messages

    @property
    def context_messages(self) -> Sequence[Message]:
        """The history as models see it, before the stages that keep it within the window."""
        return self.state.context.overlay.apply(self.history.messages)

    @property
    def streaming_message(self) -> AssistantMessage | None:
        """The reply in progress, as far as it was received; None while no reply is streamed."""
        return self.state.reply.partial() if self.state.reply else None

    @property
    def pending_tool_calls(self) -> frozenset[str]:
        """Ids of the tool calls that are running, or allowed and waiting to run."""
        return self.state.calls.ids(self.session_id)

    @property
    def last_error(self) -> str | None:
        """Error that ended the last run; None if it did not fail, or while a run is active."""
        return self.state.last_error

    def ensure_idle(self) -> None:
        """Check that no run is active.

        Raises:
            AlreadyRunning: A run is active.
        """
        if self.is_running:
            raise AlreadyRunning("a run is active: steer it, queue a follow-up, or abort it")

    @property
    def has_pending(self) -> bool:
        """True if a message is queued."""
        return bool(self.inbox)

    @cached_property
    def workspace(self) -> Workspace:
        """Files the agent may access."""
        return self.options.workspace or Workspace(Path.cwd())

    @property
    def jobs(self) -> Jobs:
        """Background jobs."""
        return self.state.jobs

    def steer(self, prompt: Prompt) -> None:
        """Send a message to the active run, delivered at the next turn.

        `options.steering_mode` decides what happens to running tool calls; `interrupt` delivers the message at once.
        Thread-safe, like `follow_up`, `drain_queues`, `interrupt` and `abort`; all other methods belong to the thread
        of the event loop.
        """
        for message in user_messages(prompt):
            self.inbox.steering.put(message)

    def follow_up(self, prompt: Prompt) -> None:
        """Queue a message that is delivered when the run would end."""
        for message in user_messages(prompt):
            self.inbox.follow_up.put(message)

    def drain_queues(self) -> tuple[UserMessage, ...]:
        """Empty both queues and return their messages. `inbox.steering.clear()` empties one."""
        return self.inbox.steering.clear() + self.inbox.follow_up.clear()

    def abort(self) -> None:
        """Abort the active run, if any. Messages and changes made so far remain."""
        if self._lifecycle is not None:
            self._lifecycle.abort()

    def interrupt(self) -> bool:
        """Interrupt the current turn and deliver the next queued steering message at once.

        The reply is cut off; running tool calls are cancelled and keep their output, others are skipped. Then the run
        continues with the message. Without one it continues with the results of its calls, or ends as with `abort` if
        only a reply was interrupted. Thread-safe.

        Returns:
            False if no turn is active.
        """
        return self.inbox.interruption.request()

    def cancel_call(self, call_id: str, session_id: str = "") -> bool:
        """Cancel one running call of this agent or a subagent, with all its processes. Thread-safe.

        The other calls of the reply continue, and the model receives the cancellation as the result.

        Args:
            call_id: Id of the call.
            session_id: Session of the agent that made the call, as in its events; models of several agents may use the
                same call ids. Empty: any session.

        Returns:
            False if the call is not running.
        """
        return self.state.calls.cancel(call_id, session_id)

    def background_call(self, call_id: str) -> bool:
        """Move the command of a running call to the background, so that the run continues without it. Thread-safe.

        Returns:
            False if the call does not exist or cannot continue in the background.
        """
        return self.jobs.move(call_id)

    def retry_now(self) -> bool:
        """Skip the wait before a retry. Return False if the run is not waiting."""
        return self.state.pause.cut()

    def set_model(self, model: Model | str) -> None:
        """Use another model from the next turn on; at once, if the run is waiting to retry a request.

        Raises:
            ConfigError: The model does not exist.
        """
        model = model_of(model)
        self.state.former_models.append(self.state.model)
        self.state.model = model
        self.retry_now()
        self.publish(ModelChanged(spec=model.spec))

    def set_mode(self, mode: Mode) -> None:
        """Switch between planning and executing; only on behalf of the user, never of the model."""
        self.state.mode = mode
        self.publish(ModeChanged(mode=mode.name))

    async def wait_until_idle(self) -> None:
        """Wait until no run is active."""
        await self._idle.wait()

    def subscribe(self, subscriber: Subscriber) -> Callable[[], None]:
        """Call `subscriber` with every event, in order, until the returned function is called.

        Raises:
            ConfigError: The subscriber is async; use `listen` to await events.
        """
        return self._bus.subscribe(subscriber)

    def add_drain(self, drain: Drain) -> Callable[[], None]:
        """Await `drain` before each model call, before each tool call and at the end of each run.

        For subscribers that store events in the background. Returns a function that ends it.
        """
        return self._bus.add_drain(drain)

    def listen(self, capacity: int = 256) -> Listener:
        """Return a stream of all later events, of any run, for a consumer that may lag; `close` ends it."""
        return self._bus.listen(capacity)

    def notify(self, text: str, level: Literal["info", "warning", "error"] = "info") -> None:
        """Publish a notice to all subscribers."""
        self.publish(Notice(text=text, level=level))

    def publish(self, event: Event) -> None:
        """Publish an event to all subscribers; the header is filled in."""
        self._bus.publish(event)

    def _publish_of_job(self, event: Event) -> None:
        if isinstance(event, JobEnded):
            self.state.permissions.store.end_job(event.job_id)
        self.publish(event)

    def add_reminder(self, text: str) -> None:
        """Add a synthetic message before the next reply. It starts no run."""
        self.inbox.reminders.put(synthetic(text))

    def on_close(self, closer: Callable[[], Awaitable[None]]) -> None:
        """Await a function when the agent is closed, such as one that ends connections of its tools."""
        self._closers.append(closer)

    async def close(self) -> None:
        """Abort the run, stop background jobs, close connections, store the session and end all event streams."""
        await self._release()
        while self._closers:
            await self._closers.pop()()
        await self._bus.flush()
        self._bus.close()

    async def _release(self) -> None:
        self.abort()
        await self.wait_until_idle()
        await self.jobs.close()
        routed = self.options.routing.models if self.options.routing else ()
        former, self.state.former_models = self.state.former_models, []
        summarizing = (self.options.compact_model,) if self.options.compact_model else ()
        for model in (self.state.model, *former, *self.options.fallback, *routed, *summarizing):
            await model.provider.close()
        if problem := await asyncio.to_thread(self.state.permissions.store.flush):
            logger.warning("%s", problem)

    async def run(self, request: RunRequest) -> AgentResult:
        """Execute a run. `prompt` and `continue_run` are the usual entry points.

        Raises:
            AlreadyRunning: A run is active.
        """
        self.ensure_idle()
        parent = self.identity.parent_run_id if request.continuation is None else self.identity.last_run_id
        self._bus.run_id = request.run_id or self.identity.next_run(self.state.model.spec)
        self.state.last_error = None
        self._idle.drop()
        try:
            self._lifecycle = RunLifecycle(self._new_run(request), self.identity, parent)
            return await self._lifecycle.execute()
        finally:
            try:
                await self._bus.flush()
            finally:
                self._lifecycle = None
                self._idle.lift()

    def blocking(self, work: Callable[[], Awaitable[T]]) -> T:
        """Wait for `work` as `prompt_sync` does, then close connections, and return its result."""

        async def once() -> T:
            try:
                return await work()
            finally:
                # A run that is active now was started by other code, which still needs the connections.
                if not self.is_running:
                    await self._release()

        return run_blocking(once, self.abort)

    def _new_run(self, request: RunRequest) -> Run:
        options = self.options
        return Run(
            state=self.state,
            bus=self._bus,
            history=self.history,
            inbox=self.inbox,
            meter=Meter(options.limits),
            options=options,
            user=options.user,
            workspace=self.workspace,
            spill_dir=options.spill_dir or Path(tempfile.gettempdir()) / f"cinch-{self.session_id}",
            hooks=HookChain((*options.hooks, *request.hooks), self._bus, self.add_reminder),
            cache=self._cache,
            request=request,
            start_index=len(self.history),
        )
