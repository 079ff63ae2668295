"""What outlives a run: prompt, steer, follow up, abort, continue, modes, subscribe."""

from __future__ import annotations

import asyncio
import contextlib
import tempfile
import threading
from collections.abc import AsyncIterator, Callable, Coroutine, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal, TypeAlias

from harness.approval.policy import ApprovalMode
from harness.approval.rules import Grants
from harness.bus import Bus, Subscriber
from harness.channel import Channel
from harness.cost import Ledger
from harness.errors import AlreadyRunning, InvalidContinue, NoMessages
from harness.events import AgentEnd, AgentStart, Event, ModeChanged, ModelChanged, Notice
from harness.history import History
from harness.inbox import Inbox, QueueMode
from harness.limits import Limits, Meter
from harness.loop import Ending, hear_unheard, run_loop
from harness.messages import AssistantMessage, Message, StopReason, Text, Usage, UserContent, UserMessage, new_id
from harness.modes import EXECUTE, Mode
from harness.person import Nobody, Person
from harness.provider import Model
from harness.retry import RetryPolicy
from harness.run import Run, State
from harness.stopping import stop_tasks
from harness.thinking import ThinkingLevel
from harness.tool import Tool
from harness.workspace import Workspace

Prompt: TypeAlias = str | Sequence[UserContent]

STOPPED = Ending("aborted", "stopped by the person")


@dataclass(frozen=True, slots=True)
class AgentOptions:
    """How an agent is to work; the defaults ask nobody and therefore change nothing.

    `workspace` None is the current folder. `spill_dir` takes output too long to hand back; None is a folder of the
    system's temporary ones. `messages` is a conversation to go on with. `patience`: seconds that a cancelled tool gets
    to clean up, before it is left behind.
    """

    workspace: Workspace | None = None
    person: Person = Nobody()
    approval: ApprovalMode = "smart"
    grants: Grants | None = None
    mode: Mode = EXECUTE
    limits: Limits = Limits()
    retry: RetryPolicy = RetryPolicy()
    max_tokens: int | None = None
    steering: QueueMode = "one"
    follow_up: QueueMode = "one"
    session_id: str = ""
    messages: Sequence[Message] = ()
    spill_dir: Path | None = None
    patience: float = 5.0


@dataclass(frozen=True, slots=True)
class AgentResult:
    """What a run came to. `text` is the last reply's; `messages` are all that the run added; `limit` names the limit
    that ended it, if one did."""

    messages: tuple[Message, ...]
    text: str
    stop_reason: StopReason
    usage: Usage
    error: str | None = None
    limit: str = ""


class Agent:
    """A conversation with a model that can use tools. One run at a time; constructing one does no I/O."""

    def __init__(
        self,
        model: Model,
        tools: Sequence[Tool] = (),
        system_prompt: str = "You are a helpful assistant.",
        options: AgentOptions = AgentOptions(),
    ) -> None:
        self.options = options
        self.history = History(options.messages)
        self.inbox = Inbox(options.steering, options.follow_up)
        self.state = State(
            model=model,
            tools=tools,
            system_prompt=system_prompt,
            mode=options.mode,
            approval=options.approval,
            grants=options.grants or Grants(),
        )
        self.state.max_tokens = options.max_tokens
        self._bus = Bus(options.session_id or new_id())
        self._workspace = options.workspace
        self._runs = 0
        self._task: asyncio.Task[Ending] | None = None
        self._idle = asyncio.Event()
        self._idle.set()

    @property
    def session_id(self) -> str:
        return self._bus.session_id

    @property
    def is_running(self) -> bool:
        return not self._idle.is_set()

    @property
    def workspace(self) -> Workspace:
        if self._workspace is None:
            self._workspace = Workspace(Path.cwd())
        return self._workspace

    async def prompt(self, prompt: Prompt) -> AgentResult:
        """Say something and wait for the run to end. A failed or aborted run is a result, not an exception.

        Raises:
            AlreadyRunning: a run is on; `steer` or `follow_up` instead.
        """
        return await self._run((_message(prompt),))

    async def continue_run(self) -> AgentResult:
        """Let the model go on from where the history stands, with what is queued.

        Raises:
            AlreadyRunning: a run is on.
            NoMessages: there is nothing to go on from.
            InvalidContinue: the last word is the assistant's and nothing is queued.
        """
        self._refuse_second_run()
        if not len(self.history):
            raise NoMessages("there is no conversation to continue")
        queued = self.inbox.steering.take() or self.inbox.follow_up.take()
        if self.history.at_rest and not queued:
            raise InvalidContinue("the last message is the assistant's: prompt instead")
        return await self._run(queued)

    async def stream(self, prompt: Prompt) -> AsyncIterator[Event]:
        """Say something and read what happens, up to and including `AgentEnd`. Leaving early aborts the run.

        Raises:
            AlreadyRunning: a run is on.
        """
        self._refuse_second_run()
        channel = Channel()
        unsubscribe = self.subscribe(channel.put)
        run = asyncio.create_task(self.prompt(prompt))
        try:
            # Let it begin, or be refused because another began in the same moment.
            await asyncio.sleep(0)
            while not run.done() or channel:
                event = await channel.get()
                yield event
                if isinstance(event, AgentEnd):
                    break
        finally:
            unsubscribe()
            # Read late, the end may be that of a run long over, and what is on now be another's.
            if not run.done():
                self.abort()
            await run

    def prompt_sync(self, prompt: Prompt) -> AgentResult:
        """Say something and wait; needs no event loop, and works beside one that is running in this thread.

        Interrupted (Ctrl+C), it aborts the run and lets the interruption pass.
        """

        async def once() -> AgentResult:
            try:
                return await self.prompt(prompt)
            finally:
                await self.close()

        try:
            asyncio.get_running_loop()
        except RuntimeError:
            # In the main thread asyncio turns Ctrl+C into a cancellation, so that it comes at no awkward moment.
            return asyncio.run(once())
        return self._in_a_thread(once)

    def _in_a_thread(self, once: Callable[[], Coroutine[None, None, AgentResult]]) -> AgentResult:
        results: list[AgentResult] = []
        failures: list[BaseException] = []
        loops: list[asyncio.AbstractEventLoop] = []

        async def known() -> AgentResult:
            loops.append(asyncio.get_running_loop())
            return await once()

        def work() -> None:
            try:
                results.append(asyncio.run(known()))
            except BaseException as error:  # noqa: BLE001  raised again in the caller's thread
                failures.append(error)
            finally:
                ended.set()

        # Not `join`: interrupted, CPython 3.11's takes the thread for ended from then on.
        ended = threading.Event()
        try:
            threading.Thread(target=work, name="cinch-prompt-sync").start()
            ended.wait()
        except KeyboardInterrupt:
            for loop in loops:
                # It may have ended in this very moment.
                with contextlib.suppress(RuntimeError):
                    loop.call_soon_threadsafe(self.abort)
            ended.wait()
            raise
        if failures:
            raise failures[0]
        return results[0]

    def steer(self, prompt: Prompt) -> None:
        """Say something to the run that is on: it interrupts the tools and is heard at the next turn."""
        self.inbox.steering.put(_message(prompt))

    def follow_up(self, prompt: Prompt) -> None:
        """Say something once the run has ended well."""
        self.inbox.follow_up.put(_message(prompt))

    def take_back(self) -> tuple[UserMessage, ...]:
        """Empty both queues; hands back what was in them."""
        return self.inbox.steering.clear() + self.inbox.follow_up.clear()

    def abort(self) -> None:
        """Stop the run that is on, if one is; what was said and done so far stays."""
        if self._task is not None:
            self._task.cancel()

    async def wait_idle(self) -> None:
        await self._idle.wait()

    def subscribe(self, subscriber: Subscriber) -> Callable[[], None]:
        """Call `subscriber` with every event, in order, until the returned function is called."""
        return self._bus.subscribe(subscriber)

    def notify(self, text: str, level: Literal["info", "warning", "error"] = "info") -> None:
        """Publish a notice to all subscribers."""
        self._bus.publish(Notice(text=text, level=level))

    def set_model(self, model: Model) -> None:
        """Ask another model from the next turn on."""
        self.state.model = model
        self._bus.publish(ModelChanged(spec=model.spec))

    def set_thinking(self, level: ThinkingLevel) -> None:
        model = self.state.model
        self.set_model(replace(model, spec=replace(model.spec, thinking=level)))

    def set_mode(self, mode: Mode) -> None:
        """Change between planning and executing; for the person's hand only."""
        self.state.mode = mode
        self._bus.publish(ModeChanged(mode=mode.name))

    def new_session(self, session_id: str = "", messages: Sequence[Message] = ()) -> None:
        """Begin another conversation, or go on with `messages`; trust given for the session ends.

        Raises:
            AlreadyRunning: a run is on.
        """
        self._refuse_second_run()
        self.history.replace(messages)
        self.state.ledger = Ledger()
        for each in messages:
            if isinstance(each, AssistantMessage):
                self.state.ledger.add(f"{each.provider}/{each.model}", each.usage)
        self.state.grants.untrust(None)
        self._bus.session_id = session_id or new_id()
        self._bus.turn = 0
        self._runs = 0

    async def close(self) -> None:
        """Stop what is on and let go of connections."""
        self.abort()
        await self.wait_idle()
        await self.state.model.provider.close()

    def _refuse_second_run(self) -> None:
        if self.is_running:
            raise AlreadyRunning("a run is on: steer it, queue a follow-up, or abort it")

    async def _run(self, prompts: tuple[UserMessage, ...]) -> AgentResult:
        self._refuse_second_run()
        meter = Meter(self.options.limits)
        run = self._new_run(meter)
        self._idle.clear()
        self._runs += 1
        self._bus.loop_id = f"{self.session_id}.{self._runs}"
        before = len(self.history)
        ending = Ending("error", "the run failed")
        try:
            ending = await self._guarded(run, prompts)
        except asyncio.CancelledError:
            ending = STOPPED
            raise
        finally:
            end = self._end(ending, meter, before)
            self._task = None
            self._idle.set()
        return AgentResult(end.messages, self._last_text(end), end.stop_reason, end.usage, end.error, end.limit)

    async def _guarded(self, run: Run, prompts: tuple[UserMessage, ...]) -> Ending:
        """The run in a task of its own, so that `abort` stops it and not its caller."""
        self._task = task = asyncio.create_task(run_loop(run, prompts))
        # Only now, so that whoever hears of the run can abort it.
        self._bus.publish(AgentStart())
        try:
            await asyncio.wait([task])
        finally:
            try:
                await stop_tasks([task])
            finally:
                hear_unheard(run, prompts)
        return STOPPED if task.cancelled() else task.result()

    def _new_run(self, meter: Meter) -> Run:
        return Run(
            state=self.state,
            bus=self._bus,
            history=self.history,
            inbox=self.inbox,
            meter=meter,
            person=self.options.person,
            workspace=self.workspace,
            retry=self.options.retry,
            spill_dir=self.options.spill_dir or Path(tempfile.gettempdir()) / f"cinch-{self.session_id}",
            patience=self.options.patience,
        )

    def _end(self, ending: Ending, meter: Meter, before: int) -> AgentEnd:
        end = AgentEnd(
            stop_reason=ending.stop_reason,
            messages=self.history.since(before),
            usage=meter.ledger.usage,
            error=ending.error,
            limit=ending.limit,
        )
        self._bus.publish(end)
        return end

    def _last_text(self, end: AgentEnd) -> str:
        reply = self.history.last_reply() if end.messages else None
        return reply.text if reply else ""


def _message(prompt: Prompt) -> UserMessage:
    return UserMessage((Text(prompt),) if isinstance(prompt, str) else tuple(prompt))
