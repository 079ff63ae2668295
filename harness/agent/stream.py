"""Stream of the events of one run, with methods to control it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable
from typing import TypeAlias

from msgspec import Struct

from harness.agent.agent_base import AgentBase
from harness.agent.arguments import Prompt
from harness.agent.run_state import AgentResult
from harness.approval.pending import PendingRequests
from harness.errors import AgentError
from harness.events import AgentEnd, Event
from harness.publishing import Listener
from harness.user_requests import Answer, Approval, PlanDecision

Start: TypeAlias = Callable[[], Awaitable[AgentResult]]
"""Starts the run and waits for its end."""


class RunStream:
    """Async iterator of the events of one run, up to and including its `AgentEnd`.

    The run starts when the first event is requested. Leaving early aborts it: `async with`, `aclose`, or breaking out
    of the loop. `respond`, `answer` and `review` require `AgentOptions(user=PendingRequests())`.

    Raises:
        AlreadyRunning: At the first event, if another run is active; that run is not affected.
        NoMessages, InvalidContinue: At the first event, if there is nothing to continue.
    """

    def __init__(self, agent: AgentBase, start: Start) -> None:
        self._agent = agent
        self._state = _StreamState()
        # The generator has no reference to this object, so that asyncio closes it when the stream is discarded.
        self._events = _events(agent, start, self._state)

    @property
    def result(self) -> AgentResult:
        """Result of the run.

        Raises:
            AgentError: The run has not ended.
        """
        if self._state.result is None:
            raise AgentError("the run has not ended: read its events to the end")
        return self._state.result

    def respond(self, call_id: str, approval: Approval) -> None:
        """Decide on a call that needs approval.

        Raises:
            NoPendingRequest: The call is not waiting for approval.
            AgentError: The agent uses another user interface.
        """
        self._answers.respond(call_id, approval)

    def answer(self, call_id: str, answer: Answer) -> None:
        """Answer the question of a call; raises like `respond`."""
        self._answers.answer(call_id, answer)

    def review(self, verdict: PlanDecision) -> None:
        """Accept or reject the submitted plan; raises like `respond`."""
        self._answers.review(verdict)

    def inject(self, prompt: Prompt) -> None:
        """Send a steering message, delivered at the next turn."""
        self._agent.steer(prompt)

    def interrupt(self) -> bool:
        """Interrupt the current turn and deliver steering messages at once; see `Agent.interrupt`."""
        return self._agent.interrupt()

    def follow_up(self, prompt: Prompt) -> None:
        """Queue a message that is delivered when the run would end."""
        self._agent.follow_up(prompt)

    def cancel(self) -> None:
        """Abort the run; its remaining events can still be read. A run that has not started never starts."""
        self._state.stop(self._agent)

    def cancel_call(self, call_id: str, session_id: str = "") -> bool:
        """Cancel one tool call. Return False if it was not running. `session_id` names a subagent's session."""
        return self._agent.cancel_call(call_id, session_id)

    def __aiter__(self) -> RunStream:
        return self

    async def __anext__(self) -> Event:
        return await anext(self._events)

    async def aclose(self) -> None:
        """Abort the run if it has not ended, and wait for its end."""
        await self._events.aclose()

    async def __aenter__(self) -> RunStream:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()

    @property
    def _answers(self) -> PendingRequests:
        user = self._agent.options.user
        if not isinstance(user, PendingRequests):
            raise AgentError("this agent uses another user interface: set AgentOptions(user=PendingRequests())")
        return user


class _StreamState(Struct):
    """Progress of a stream's run."""

    stopped: bool = False
    """True once the run has to end."""
    over: bool = False
    """True once the run has ended."""
    listener: Listener | None = None
    """Source of the events; None before the run starts."""
    result: AgentResult | None = None
    """Result of the run."""

    def stop(self, agent: AgentBase) -> None:
        self.stopped = True
        if self.listener is not None and not self.over:
            agent.abort()


async def _events(agent: AgentBase, start: Start, state: _StreamState) -> AsyncGenerator[Event]:
    if state.stopped:
        return
    run = asyncio.create_task(_run(agent, start, state))
    try:
        # Let the run start, or be refused because another one started in the same moment.
        await asyncio.sleep(0)
        if state.listener is not None:
            async for event in state.listener:
                state.over |= isinstance(event, AgentEnd)
                yield event
                if isinstance(event, AgentEnd):
                    break
    finally:
        state.stop(agent)
        state.result = await run


async def _run(agent: AgentBase, start: Start, state: _StreamState) -> AgentResult:
    with agent.listen() as state.listener:
        try:
            return await start()
        finally:
            state.over = True
