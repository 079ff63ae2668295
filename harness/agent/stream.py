"""A run that is read while it happens, and spoken to meanwhile."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable
from types import TracebackType
from typing import TypeAlias

from harness.agent.core import AgentCore
from harness.agent.prompt import Prompt
from harness.agent.result import AgentResult
from harness.approval.pending import PendingRequests
from harness.errors import AgentError
from harness.events import AgentEnd, Event
from harness.lazy_dataclass import dataclass
from harness.ports.interaction import Answer, Approval, PlanDecision
from harness.publishing.channel import Listener

Start: TypeAlias = Callable[[], Awaitable[AgentResult]]
"""Starts the run, and waits for its end."""


class RunStream:
    """An async iterator of everything that happens in one run, up to and including its `AgentEnd`.

    The run begins with the first event that is asked for. Leaving early aborts it: `async with`, `aclose`, or breaking
    out of the loop. `respond`, `answer` and `review` need an agent whose person is `Answers`.

    Raises:
        AlreadyRunning: at the first event, when another run is on; that run is not disturbed.
        NoMessages, InvalidContinue: at the first event, when there is nothing to continue.
    """

    def __init__(self, agent: AgentCore, start: Start) -> None:
        self._agent = agent
        self._course = _Course()
        # A generator that knows nothing of this object: forgotten together, asyncio closes it at once.
        self._events = _events(agent, start, self._course)

    @property
    def result(self) -> AgentResult:
        """What the run came to.

        Raises:
            AgentError: it is not over.
        """
        if self._course.result is None:
            raise AgentError("the run is not over: read its events to the end")
        return self._course.result

    def respond(self, call_id: str, approval: Approval) -> None:
        """Say whether a call may run.

        Raises:
            NotAsked: that call does not wait for approval.
            AgentError: the agent asks somebody else.
        """
        self._answers.respond(call_id, approval)

    def answer(self, call_id: str, answer: Answer) -> None:
        """Answer the question that a call asks; raises as `respond`."""
        self._answers.answer(call_id, answer)

    def review(self, verdict: PlanDecision) -> None:
        """Accept or reject the plan that was submitted; raises as `respond`."""
        self._answers.review(verdict)

    def inject(self, prompt: Prompt) -> None:
        """Say something to the run: it is heard at the next turn."""
        self._agent.steer(prompt)

    def interrupt(self) -> bool:
        """Interrupt the turn that is on, so that what was injected is delivered at once; see `Agent.interrupt`."""
        return self._agent.interrupt()

    def follow_up(self, prompt: Prompt) -> None:
        """Say something once the run has ended well."""
        self._agent.follow_up(prompt)

    def cancel(self) -> None:
        """Stop the run; the events that tell of its end can still be read. Before it begins, it never does."""
        self._course.stop(self._agent)

    def cancel_call(self, call_id: str, session_id: str = "") -> bool:
        """Stop one call, and nothing else; whether it was running."""
        return self._agent.cancel_call(call_id, session_id)

    def __aiter__(self) -> RunStream:
        return self

    async def __anext__(self) -> Event:
        return await anext(self._events)

    async def aclose(self) -> None:
        """Stop the run if it is not over, and wait until it is."""
        await self._events.aclose()

    async def __aenter__(self) -> RunStream:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        await self.aclose()

    @property
    def _answers(self) -> PendingRequests:
        person = self._agent.options.user
        if not isinstance(person, PendingRequests):
            raise AgentError("this agent asks somebody else: give it AgentOptions(person=Answers())")
        return person


@dataclass(slots=True)
class _Course:
    """How far the run of a stream is: `heard` once the run that is on is this one's, `over` once its end is known."""

    stopped: bool = False
    over: bool = False
    heard: Listener | None = None
    result: AgentResult | None = None

    def stop(self, agent: AgentCore) -> None:
        self.stopped = True
        if self.heard is not None and not self.over:
            agent.abort()


async def _events(agent: AgentCore, start: Start, course: _Course) -> AsyncGenerator[Event]:
    if course.stopped:
        return
    run = asyncio.create_task(_run(agent, start, course))
    try:
        # Let it begin, or be refused because another began in the same moment.
        await asyncio.sleep(0)
        if course.heard is not None:
            async for event in course.heard:
                course.over |= isinstance(event, AgentEnd)
                yield event
                if isinstance(event, AgentEnd):
                    break
    finally:
        course.stop(agent)
        course.result = await run


async def _run(agent: AgentCore, start: Start, course: _Course) -> AgentResult:
    with agent.listen() as course.heard:
        try:
            return await start()
        finally:
            course.over = True
