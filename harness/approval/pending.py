"""User interaction for programs: requests wait until the program answers them by call id."""

from __future__ import annotations

import asyncio
import threading
from collections import deque
from collections.abc import Sequence
from typing import Generic, TypeVar

from msgspec import Struct
from msgspec.structs import replace

from harness.concurrency import settle
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
from harness.ports.interaction import BatchQuestions, shortest_timeout
from harness.user_requests import Answer, Approval, ApprovalRequest, Denied, Plan, PlanDecision, Question

RequestT = TypeVar("RequestT")
ReplyT = TypeVar("ReplyT")

PLAN_ID = ""
ANSWER_SECONDS = 300.0
"""Default time limit for an answer, in seconds, so that an overlooked request does not block the run."""


class PendingRequest(Struct, frozen=True):
    """A request that waits for an answer."""

    call_id: str
    """Id of the call; empty for a plan."""
    request: ApprovalRequest | Question | Plan
    """The request."""


class PendingRequests(BatchQuestions):
    """Requests answered by `respond`, `answer` and `review`, from any task, callback or thread.

    The events ToolApprovalRequested, QuestionAsked and PlanSubmitted announce the requests, which may be answered from
    then on; those of a subagent or branch are wrapped in an event of the agent, see `innermost`. Aborting a run cancels
    its requests. If several calls share an id, the oldest request is answered.

    Args:
        timeout: Seconds after which a request is denied; None = unlimited.
    """

    def __init__(self, timeout: float | None = ANSWER_SECONDS) -> None:
        self._timeout = timeout
        self._approvals: _RequestBox[ApprovalRequest, Approval] = _RequestBox("approval")
        self._questions: _RequestBox[Question, Answer] = _RequestBox("answer")
        self._plans: _RequestBox[Plan, PlanDecision] = _RequestBox("verdict")
        self._asking: list[tuple[str, Question]] = []

    @property
    def open(self) -> tuple[PendingRequest, ...]:
        """Requests that wait for an answer: approvals, questions, plans, each kind in order."""
        return tuple(
            PendingRequest(waiting.call_id, waiting.request)
            for box in (self._approvals, self._questions, self._plans)
            for waiting in tuple(box.waiting)
        )

    def respond(self, call_id: str, approval: Approval) -> None:
        """Decide on a call.

        Raises:
            NoPendingRequest: The call is not waiting for approval.
        """
        self._approvals.reply(call_id, approval)

    def answer(self, call_id: str, answer: Answer) -> None:
        """Answer the question of a call.

        Raises:
            NoPendingRequest: The call has no open question.
        """
        self._questions.reply(call_id, answer)

    def review(self, verdict: PlanDecision) -> None:
        """Accept or reject the submitted plan.

        Raises:
            NoPendingRequest: No plan is waiting for review.
        """
        self._plans.reply(PLAN_ID, verdict)

    async def approve(self, request: ApprovalRequest) -> Approval:
        approval = await self._approvals.wait(request.call.id, request, self._timeout)
        return approval or Denied("approval timed out; continue without it", non_interactive=True)

    async def ask(self, question: Question) -> Answer:
        return await self._ask_within(None, question)

    async def ask_all(self, questions: Sequence[Question]) -> tuple[Answer, ...]:
        """Ask all questions at once; answers for the same call are assigned in question order."""
        limit = shortest_timeout(questions)
        async with asyncio.TaskGroup() as group:
            asked = [group.create_task(self._ask_within(limit, question)) for question in questions]
        return tuple(each.result() for each in asked)

    async def _ask_within(self, limit: float | None, question: Question) -> Answer:
        limits = [each for each in (limit, question.timeout, self._timeout) if each is not None]
        answer = await self._questions.wait(self._call_of(question), question, min(limits, default=None))
        return answer or Answer("timed_out")

    async def review_plan(self, plan: Plan) -> PlanDecision:
        verdict = await self._plans.wait(PLAN_ID, plan, self._timeout)
        return verdict or PlanDecision(accepted=False, non_interactive=True)

    def observe(self, event: Event) -> None:
        """Note the requests that events announce. The agent calls it before any other subscriber."""
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
                # The event does not identify the subagent, which may have a user interface of its own.
                if not isinstance(inner, PlanSubmitted):
                    self.observe(inner)
            case _:
                pass

    def _expect(self, call_id: str, question: Question) -> None:
        # A parallel run may announce a question twice: on its own bus, and on the bus of its parent run.
        question = replace(question, asker="")
        if (call_id, question) not in self._asking:
            self._asking.append((call_id, question))

    def _call_of(self, question: Question) -> str:
        """Return the call that asks, which only the event names. Equal questions are matched in order."""
        for at, (call_id, asked) in enumerate(self._asking):
            if asked == replace(question, asker=""):
                del self._asking[at]
                return call_id
        return ""


class _Waiting(Struct, Generic[RequestT, ReplyT], eq=False, frozen=True):
    call_id: str
    request: RequestT
    reply: asyncio.Future[ReplyT]


class _RequestBox(Generic[RequestT, ReplyT]):
    """Requests of one kind and the replies to them, by the id of the call; safe to use from any thread."""

    def __init__(self, kind: str) -> None:
        self._kind = kind
        self._lock = threading.Lock()
        self._announced: dict[str, int] = {}
        self._early: dict[str, deque[ReplyT]] = {}
        self.waiting: list[_Waiting[RequestT, ReplyT]] = []

    def announce(self, call_id: str, count: int = 1) -> None:
        """Announce `count` requests of a call."""
        with self._lock:
            self._announced[call_id] = count - len(self._early.get(call_id, ()))

    def withdraw(self, call_id: str) -> None:
        with self._lock:
            self._announced.pop(call_id, None)
            self._early.pop(call_id, None)

    def reply(self, call_id: str, reply: ReplyT) -> None:
        with self._lock:
            waiting = next((each for each in self.waiting if each.call_id == call_id), None)
            if waiting is None:
                self._store_early(call_id, reply)
                return
            self.waiting.remove(waiting)
        try:
            waiting.reply.get_loop().call_soon_threadsafe(settle, waiting.reply, reply)
        except RuntimeError as error:
            raise NoPendingRequest("the run that asked has ended, and its event loop is closed") from error

    async def wait(self, call_id: str, request: RequestT, limit_s: float | None) -> ReplyT | None:
        """Return the reply, or None after `limit_s` seconds."""
        waiting: _Waiting[RequestT, ReplyT] = _Waiting(call_id, request, asyncio.get_running_loop().create_future())
        with self._lock:
            if early := self._early.get(call_id):
                return early.popleft()
            self._count_down(call_id)
            self.waiting.append(waiting)
        try:
            # Not `asyncio.timeout`: it would cancel the future that another thread may be about to settle.
            await asyncio.wait([waiting.reply], timeout=limit_s)
            return None if self._remove(waiting) else await waiting.reply
        finally:
            self._remove(waiting)

    def _store_early(self, call_id: str, reply: ReplyT) -> None:
        """Store a reply to a request that is announced but not yet made."""
        if call_id not in self._announced:
            what = f"call {call_id!r} is not waiting for an {self._kind}" if call_id else f"no {self._kind} is expected"
            raise NoPendingRequest(f"{what}; it was already answered or never requested")
        self._count_down(call_id)
        self._early.setdefault(call_id, deque()).append(reply)

    def _count_down(self, call_id: str) -> None:
        left = self._announced.pop(call_id, 0) - 1
        if left > 0:
            self._announced[call_id] = left

    def _remove(self, waiting: _Waiting[RequestT, ReplyT]) -> bool:
        """Remove a waiting request. Return False if its reply is already on the way."""
        with self._lock:
            if waiting not in self.waiting:
                return False
            self.waiting.remove(waiting)
            return True
