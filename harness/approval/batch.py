"""Approvals of the calls of one reply: a request lists the other pending calls, which may be answered early."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import TypeAlias

from msgspec import Struct
from msgspec.structs import replace

from harness.approval.assessment import ApprovalContext, PendingApproval, evaluate_policy, request_for
from harness.messages import ToolCall
from harness.user_requests import ApprovalDecision, ApprovalRequest, BatchApproval, Denied

Preview: TypeAlias = Callable[[ToolCall], Awaitable[PendingApproval | None]]
"""Function that returns the approval request of a later call, if it needs one."""


class RecordedAnswer(Struct, frozen=True):
    """Decision on a call as it was displayed."""

    asked: PendingApproval
    request: ApprovalRequest
    approval: ApprovalDecision


class Batch:
    """Calls of one reply in the order in which they are decided; empty: each call is approved alone."""

    def __init__(self, run: ApprovalContext, calls: Sequence[ToolCall] = (), preview: Preview | None = None) -> None:
        self._run = run
        self._preview_call = preview
        self._places = {call.id: place for place, call in enumerate(calls)}
        self._calls = calls
        self._later: dict[str, PendingApproval] | None = None
        self._answers: dict[str, RecordedAnswer] = {}
        self._asked: set[str] = set()

    async def request(self, asked: PendingApproval) -> ApprovalRequest:
        """Return the approval request of a call, with the other pending calls."""
        call_id = asked.wanted.call.id
        waiting = await self._waiting(call_id)
        self._asked.add(call_id)
        # Calls that were answered early are no longer pending but still count.
        known = {*self._asked, *self._answers, *(each.wanted.call.id for each in waiting)}
        in_order = sorted(known, key=lambda each: self._places.get(each, 0))
        others = tuple(self._placed(each, in_order) for each in waiting)
        return replace(self._placed(asked, in_order), others=others)

    def record(
        self, asked: PendingApproval, request: ApprovalRequest, batch: BatchApproval
    ) -> tuple[RecordedAnswer, ...]:
        """Return the valid answers of a batch approval; those for later calls are kept until their turn."""
        shown = {each.call.id: each for each in (request, *request.others)}
        about = {**(self._later or {}), asked.wanted.call.id: asked}
        is_alone = len(batch.answers) == 1
        recorded = tuple(
            RecordedAnswer(about[each.call_id], shown[each.call_id], each.approval)
            for each in batch.answers
            if each.call_id in shown and (is_alone or _allowed_in_batch(shown[each.call_id], each.approval))
        )
        own = asked.wanted.call.id
        self._answers |= {each.request.call.id: each for each in recorded if each.request.call.id != own}
        return recorded

    def take_answer(self, request: ApprovalRequest) -> ApprovalDecision | None:
        """Return an early answer to exactly this request; None if it was not answered early or has changed."""
        recorded = self._answers.pop(request.call.id, None)
        return recorded.approval if recorded and _call_alone(recorded.request) == _call_alone(request) else None

    async def _waiting(self, call_id: str) -> list[PendingApproval]:
        """Return the later calls that need approval and have no answer yet."""
        place = self._places.get(call_id)
        if place is None:
            return []
        if self._later is None:
            self._later = await self._previews(self._calls[place + 1 :])
        return [
            asked
            for later, asked in self._later.items()
            if self._places[later] > place
            and later not in self._answers
            and evaluate_policy(self._run, asked.wanted).kind == "ask"
        ]

    def _placed(self, asked: PendingApproval, in_order: Sequence[str]) -> ApprovalRequest:
        position = in_order.index(asked.wanted.call.id) + 1
        return replace(request_for(self._run, asked), position=position, total=len(in_order))

    async def _previews(self, calls: Sequence[ToolCall]) -> dict[str, PendingApproval]:
        known = [(call.id, await self._preview_call(call)) for call in calls] if self._preview_call else []
        return {call_id: asked for call_id, asked in known if asked is not None}


def _call_alone(request: ApprovalRequest) -> ApprovalRequest:
    """Return the request without its place among the other calls, which answers change."""
    return replace(request, position=1, total=1, others=())


def _allowed_in_batch(request: ApprovalRequest, approval: ApprovalDecision) -> bool:
    return request.risk.level != "dangerous" or isinstance(approval, Denied)
