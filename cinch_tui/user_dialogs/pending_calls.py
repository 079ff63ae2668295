"""Pending tool calls of a reply: the visible one, its options and the accepted hunks of each."""

from __future__ import annotations

from functools import cached_property

from cinch_tui.rendering.review import Review
from cinch_tui.user_dialogs.call_text import (
    AnswerOption,
    allowable,
    always_label,
    batch_approval,
    call_title,
    calls_of,
    denial_of_all,
    exact_label,
    is_named_in_full,
    number_of,
)
from harness.user_requests import (
    AllowHunks,
    AllowOnce,
    Approval,
    ApprovalDecision,
    ApprovalRequest,
    BatchApproval,
    RejectedHunk,
)
from harness.views import DiffView
from harness.workspace.hunks import hunks_of

MOST_OTHERS = 4
LIST_INDENT = 5


class WaitingCall:
    """A pending call and its review state."""

    def __init__(self, request: ApprovalRequest) -> None:
        self.request = request
        self.is_seen = False
        """Its end was visible."""

    @cached_property
    def review(self) -> Review | None:
        """Return the review state; None if there is at most one hunk."""
        view = self.request.view
        if not (self.request.is_revisable and isinstance(view, DiffView)):
            return None
        count = len(hunks_of(view))
        return Review(count) if count > 1 else None

    @property
    def is_partial(self) -> bool:
        return self.review is not None and bool(self.review.refused)

    @property
    def yes(self) -> AllowOnce | AllowHunks:
        """Return the approval of the accepted hunks."""
        refused = self.review.refused if self.review else {}
        if not refused:
            return AllowOnce()
        return AllowHunks(tuple(RejectedHunk(number, refused[number]) for number in sorted(refused)))


class WaitingCalls:
    """The call to approve and the other pending calls; `shown` is the visible one."""

    def __init__(self, request: ApprovalRequest) -> None:
        self._calls = [WaitingCall(each) for each in (request, *request.others)]
        self.shown = self._calls[0]

    def __len__(self) -> int:
        return len(self._calls)

    def unseen(self, width: int, tool: str = "") -> int:
        """Count the calls allowed by one answer that were not shown completely.

        Args:
            width: width of the list of other calls; 0 if hidden.
            tool: count only calls of this tool.
        """
        free = self._allowable(tool)
        others = [call for call in self._calls if call is not self.shown][:MOST_OTHERS]
        listed = [call for call in others if is_named_in_full(call.request, width - LIST_INDENT)]
        return sum(call.request in free and not call.is_seen and call not in listed for call in self._calls)

    def go(self, step: int) -> None:
        self.shown = self._calls[(self._calls.index(self.shown) + step) % len(self)]

    def said(self, approval: ApprovalDecision) -> Approval:
        """Return the approval for the visible call."""
        return approval if self.shown is self._calls[0] else batch_approval([(self.shown.request, approval)])

    def allowed(self, tool: str = "") -> BatchApproval:
        """Approve all calls that one answer may allow, except their rejected hunks."""
        free = self._allowable(tool)
        return batch_approval([(call.request, call.yes) for call in self._calls if call.request in free])

    def denied(self) -> BatchApproval:
        return denial_of_all([call.request for call in self._calls])

    def lines(self) -> list[str]:
        """Return the position of the visible call and the titles of the others."""
        others = [call.request for call in self._calls if call is not self.shown]
        request = self.shown.request
        place = (
            f"{request.position} of {request.total} calls of this reply{' · ← → shows the others' if others else ''}"
        )
        shown = [f"{each.position:3}  {call_title(each)}{_warning(each)}" for each in others[:MOST_OTHERS]]
        more = [f"     and {len(others) - MOST_OTHERS} more"] if len(others) > MOST_OTHERS else []
        return [place, *shown, *more]

    def answers(self) -> list[AnswerOption]:
        """Return the options for the visible call."""
        request, review = self.shown.request, self.shown.review
        is_partial = self.shown.is_partial
        some = f"Allow {review.taken} of {review.count} changes" if review and is_partial else ""
        answers = [
            AnswerOption("y", "once", some or "Allow once", "Once"),
            *([] if is_partial else always_label(request)),
        ]
        answers += [AnswerOption("n", "deny", "Deny", "Deny")]
        answers += [AnswerOption("d", "explain", "Deny with reason", "Reason")]
        if review:
            answers.append(AnswerOption("h", "review", f"Choose among {review.count} changes", "Choose"))
        if request.is_revisable:
            answers.append(AnswerOption("e", "rewrite", "Edit in $EDITOR", "Edit"))
        answers += [] if is_partial else exact_label(request)
        return [*answers, *(self._answers_to_all() if len(self) > 1 else [])]

    def _answers_to_all(self) -> list[AnswerOption]:
        request = self.shown.request
        free, same = len(self._allowable()), len(self._allowable(request.call.name))
        is_same = 1 < same < free and request.risk.level != "dangerous"
        all_of = (
            [AnswerOption("A", "allow_all", f"Allow {number_of(free, len(self))}", "Allow all")] if free > 1 else []
        )
        tool = [AnswerOption("T", "allow_tool", f"Allow {calls_of(request, same)}", "Same tool")] if is_same else []
        return [*all_of, *tool, AnswerOption("N", "deny_all", f"Deny all {len(self)}", "Deny all")]

    def _allowable(self, tool: str = "") -> list[ApprovalRequest]:
        return allowable([call.request for call in self._calls], tool)


def _warning(request: ApprovalRequest) -> str:
    return "  (dangerous)" if request.risk.level == "dangerous" else ""
