"""A person for programs: what the agent asks waits until somebody answers it by the id of its call."""

from __future__ import annotations

import asyncio
import threading
from collections import deque
from collections.abc import Sequence
from typing import TYPE_CHECKING, Generic, TypeVar

from harness.errors import NoPendingRequest
from harness.events import (
    BranchEvent,
    Event,
    PlanSubmitted,
    QuestionAnswered,
    QuestionAsked,
    SubagentEvent,
    ToolApprovalRequested,
    ToolApprovalResolved,
)
from harness.lazy_dataclass import dataclass
from harness.ports.interaction import (
    Answer,
    Approval,
    ApprovalRequest,
    BatchQuestions,
    Denied,
    PlanDecision,
    Question,
    shortest_timeout,
)

RequestT = TypeVar("RequestT")
ReplyT = TypeVar("ReplyT")

PLAN_ID = ""
ANSWER_SECONDS = 300.0
"""Time limit for an answer, by default: a request that a program overlooks does not hold up the run for ever."""


@dataclass(frozen=True, slots=True)
class PendingRequest:
    """What waits for an answer; `request` is the text of a plan where it is a string, and then there is no call."""

    call_id: str
    request: ApprovalRequest | Question | str


def innermost(event: Event) -> Event:
    """Return the event that a subagent or a branch published, taken out of the events around it; others as they are."""
    while isinstance(event, SubagentEvent | BranchEvent):
        event = event.event
    return event


class PendingRequests:
    """Answered by `respond`, `answer` and `review`, from any task, callback or thread.

    The events ToolApprovalRequested, QuestionAsked and PlanSubmitted tell what is asked; those of a subagent or a
    branch are inside an event of the agent, see `innermost`. An answer may be given as soon as they are published. A
    request without an answer within `timeout` seconds (None: no limit) is denied. A run that is stopped takes its
    questions with it. Where several calls of the same id wait, the one that asked first is answered.
    """

    def __init__(self, timeout: float | None = ANSWER_SECONDS) -> None:
        self._timeout = timeout
        self._approvals: _RequestBox[ApprovalRequest, Approval] = _RequestBox("approval")
        self._questions: _RequestBox[Question, Answer] = _RequestBox("answer")
        self._plans: _RequestBox[str, PlanDecision] = _RequestBox("verdict")
        self._asking: list[tuple[str, Question]] = []

    @property
    def open(self) -> tuple[PendingRequest, ...]:
        """What waits for an answer now: approvals, questions, plans, each kind in the order it was asked."""
        return tuple(
            PendingRequest(waiting.call_id, waiting.request)
            for desk in (self._approvals, self._questions, self._plans)
            for waiting in desk.waiting
        )

    def respond(self, call_id: str, approval: Approval) -> None:
        """Say whether a call may run.

        Raises:
            NotAsked: that call does not wait for approval.
        """
        self._approvals.reply(call_id, approval)

    def answer(self, call_id: str, answer: Answer) -> None:
        """Answer the question that a call asks.

        Raises:
            NotAsked: that call does not ask anything.
        """
        self._questions.reply(call_id, answer)

    def review(self, verdict: PlanDecision) -> None:
        """Accept or reject the plan that was submitted.

        Raises:
            NotAsked: no plan waits.
        """
        self._plans.reply(PLAN_ID, verdict)

    async def approve(self, request: ApprovalRequest) -> Approval:
        approval = await self._approvals.wait(request.call.id, request, self._timeout)
        return approval or Denied("nobody answered in time; continue without it", non_interactive=True)

    async def ask(self, question: Question) -> Answer:
        return await self._ask_within(None, question)

    async def ask_all(self, questions: Sequence[Question]) -> tuple[Answer, ...]:
        """All wait at once; answers to the same call are taken in the order of its questions."""
        limit = shortest_timeout(questions)
        async with asyncio.TaskGroup() as group:
            asked = [group.create_task(self._ask_within(limit, question)) for question in questions]
        return tuple(each.result() for each in asked)

    async def _ask_within(self, limit: float | None, question: Question) -> Answer:
        limits = [each for each in (limit, question.timeout, self._timeout) if each is not None]
        answer = await self._questions.wait(self._call_of(question), question, min(limits, default=None))
        return answer or Answer("timed_out")

    async def review_plan(self, plan: str) -> PlanDecision:
        verdict = await self._plans.wait(PLAN_ID, plan, self._timeout)
        return verdict or PlanDecision(accepted=False, unasked=True)

    def observe(self, event: Event) -> None:
        """Know what is about to be asked. An agent whose person this is tells it before any other subscriber."""
        match event:
            case ToolApprovalRequested(call=call):
                self._approvals.announce(call.id)
            case ToolApprovalResolved(call_id=call_id):
                self._approvals.withdraw(call_id)
            case QuestionAsked(call_id=call_id, question=question):
                self._expect(call_id, question)
                self._questions.announce(call_id, sum(each == call_id for each, _ in self._asking))
            case QuestionAnswered(call_id=call_id):
                self._questions.withdraw(call_id)
                self._asking = [each for each in self._asking if each[0] != call_id]
            case PlanSubmitted():
                self._plans.announce(PLAN_ID)
            case SubagentEvent(event=inner) | BranchEvent(event=inner):
                # Whose plan it is can not be told from the event, and it may have a person of its own.
                if not isinstance(inner, PlanSubmitted):
                    self.observe(inner)
            case _:
                pass

    def _expect(self, call_id: str, question: Question) -> None:
        # A parallel run may tell it twice: on its own bus, and on that of the run it belongs to.
        if (call_id, question) not in self._asking:
            self._asking.append((call_id, question))

    def _call_of(self, question: Question) -> str:
        """The port does not say which call asks, the event before it did. Who asks the same, asks it in that order."""
        for at, (call_id, asked) in enumerate(self._asking):
            if asked == question:
                del self._asking[at]
                return call_id
        return ""


@dataclass(frozen=True, slots=True, eq=False)
class _Waiting(Generic[RequestT, ReplyT]):
    call_id: str
    request: RequestT
    reply: asyncio.Future[ReplyT]

    def settle(self, reply: ReplyT) -> None:
        if not self.reply.done():
            self.reply.set_result(reply)


class _RequestBox(Generic[RequestT, ReplyT]):
    """Requests of one kind and the replies to them, by the id of the call; safe to use from any thread."""

    def __init__(self, kind: str) -> None:
        self._kind = kind
        self._lock = threading.Lock()
        self._announced: dict[str, int] = {}
        self._early: dict[str, deque[ReplyT]] = {}
        self._waiting: list[_Waiting[RequestT, ReplyT]] = []

    @property
    def waiting(self) -> tuple[_Waiting[RequestT, ReplyT], ...]:
        return tuple(self._waiting)

    def announce(self, call_id: str, count: int = 1) -> None:
        """So many requests of this call are about to come."""
        with self._lock:
            self._announced[call_id] = count - len(self._early.get(call_id, ()))

    def withdraw(self, call_id: str) -> None:
        with self._lock:
            self._announced.pop(call_id, None)
            self._early.pop(call_id, None)

    def reply(self, call_id: str, reply: ReplyT) -> None:
        with self._lock:
            waiting = next((each for each in self._waiting if each.call_id == call_id), None)
            if waiting is None:
                self._keep(call_id, reply)
                return
            self._waiting.remove(waiting)
        try:
            waiting.reply.get_loop().call_soon_threadsafe(waiting.settle, reply)
        except RuntimeError as error:
            raise NoPendingRequest("the run that asked is over, and its event loop with it") from error

    async def wait(self, call_id: str, request: RequestT, patience: float | None) -> ReplyT | None:
        """The reply; None when none came in time."""
        waiting: _Waiting[RequestT, ReplyT] = _Waiting(call_id, request, asyncio.get_running_loop().create_future())
        with self._lock:
            if early := self._early.get(call_id):
                return early.popleft()
            self._expect_fewer(call_id)
            self._waiting.append(waiting)
        try:
            # Not `asyncio.timeout`: it would cancel the future that another thread may be about to settle.
            await asyncio.wait([waiting.reply], timeout=patience)
            return None if self._leave(waiting) else await waiting.reply
        finally:
            self._leave(waiting)

    def _keep(self, call_id: str, reply: ReplyT) -> None:
        """A reply to what is announced and will be asked in a moment."""
        if call_id not in self._announced:
            about = (
                f"call {call_id!r} does not wait for an {self._kind}" if call_id else f"no {self._kind} is waited for"
            )
            raise NoPendingRequest(f"{about}; it was not asked, or is answered already")
        self._expect_fewer(call_id)
        self._early.setdefault(call_id, deque()).append(reply)

    def _expect_fewer(self, call_id: str) -> None:
        left = self._announced.pop(call_id, 0) - 1
        if left > 0:
            self._announced[call_id] = left

    def _leave(self, waiting: _Waiting[RequestT, ReplyT]) -> bool:
        """Wait no more; whether no reply is on its way."""
        with self._lock:
            if waiting not in self._waiting:
                return False
            self._waiting.remove(waiting)
            return True


if TYPE_CHECKING:
    _: type[BatchQuestions] = PendingRequests
