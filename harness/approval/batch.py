"""The calls of one reply as a person is asked about them: each is shown with those that still wait, and may be answered
before its turn comes.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from typing import TypeAlias

from harness.agent.run import Run
from harness.approval.assessment import PendingApproval, evaluate_policy, request_for
from harness.approval.policy import Ask
from harness.lazy_dataclass import dataclass
from harness.messages import ToolCall
from harness.ports.interaction import ApprovalDecision, ApprovalRequest, BatchApproval, Denied

Preview: TypeAlias = Callable[[ToolCall], Awaitable[PendingApproval | None]]
"""What a person will be asked about a call whose turn has not come."""


@dataclass(frozen=True, slots=True)
class RecordedAnswer:
    """An answer to what was shown."""

    asked: PendingApproval
    request: ApprovalRequest
    approval: ApprovalDecision


class Batch:
    """`calls` in the order in which they are decided; without any, each call is asked about by itself."""

    def __init__(self, run: Run, calls: Sequence[ToolCall] = (), foretell: Preview | None = None) -> None:
        self._run = run
        self._foretell = foretell
        self._places = {call.id: place for place, call in enumerate(calls)}
        self._calls = calls
        self._later: dict[str, PendingApproval] | None = None
        self._said: dict[str, RecordedAnswer] = {}
        self._asked: set[str] = set()

    async def request(self, asked: PendingApproval) -> ApprovalRequest:
        """What to ask a person, with what else waits."""
        call_id = asked.wanted.call.id
        waiting = await self._waiting(call_id)
        self._asked.add(call_id)
        # What was answered before its turn is not asked about any more, and still one of them.
        known = {*self._asked, *self._said, *(each.wanted.call.id for each in waiting)}
        in_order = sorted(known, key=lambda each: self._places.get(each, 0))
        others = tuple(self._placed(each, in_order) for each in waiting)
        return replace(self._placed(asked, in_order), others=others)

    def record(
        self, asked: PendingApproval, request: ApprovalRequest, together: BatchApproval
    ) -> tuple[RecordedAnswer, ...]:
        """What counts of an answer to several calls; what concerns others is kept until their turn."""
        shown = {each.call.id: each for each in (request, *request.others)}
        about = {**(self._later or {}), asked.wanted.call.id: asked}
        is_alone = len(together.answers) == 1
        heard = tuple(
            RecordedAnswer(about[each.call_id], shown[each.call_id], each.approval)
            for each in together.answers
            if each.call_id in shown and (is_alone or _may_be_one_of_many(shown[each.call_id], each.approval))
        )
        own = asked.wanted.call.id
        self._said |= {each.request.call.id: each for each in heard if each.request.call.id != own}
        return heard

    def take_answer(self, request: ApprovalRequest) -> ApprovalDecision | None:
        """What was said before its turn of exactly this; None when nothing was, or when it has changed since."""
        said = self._said.pop(request.call.id, None)
        return said.approval if said and said.request == request else None

    async def _waiting(self, call_id: str) -> list[PendingApproval]:
        """Those after this call that will be asked about, and have not been answered."""
        place = self._places.get(call_id)
        if place is None:
            return []
        if self._later is None:
            self._later = await self._preview(self._calls[place + 1 :])
        return [
            asked
            for later, asked in self._later.items()
            if self._places[later] > place
            and later not in self._said
            and isinstance(evaluate_policy(self._run, asked.wanted), Ask)
        ]

    def _placed(self, asked: PendingApproval, in_order: Sequence[str]) -> ApprovalRequest:
        position = in_order.index(asked.wanted.call.id) + 1
        return replace(request_for(self._run, asked), position=position, total=len(in_order))

    async def _preview(self, calls: Sequence[ToolCall]) -> dict[str, PendingApproval]:
        known = [(call.id, await self._foretell(call)) for call in calls] if self._foretell else []
        return {call_id: asked for call_id, asked in known if asked is not None}


def _may_be_one_of_many(request: ApprovalRequest, approval: ApprovalDecision) -> bool:
    return request.risk.level != "dangerous" or isinstance(approval, Denied)
