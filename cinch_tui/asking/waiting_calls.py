"""The calls of a reply that wait for approval, one of which is looked at: what is taken of each, and what it offers."""

from __future__ import annotations

from functools import cached_property

from cinch_tui.asking.call_words import allowable, denial_of_all, exactly, lasting, named, together
from cinch_tui.rendering.review import Review
from cinch_tui.transcript.plain import one_line
from harness.hunks import hunks_of
from harness.person import Approval, ApprovalRequest, Once, OneApproval, Partly, RefusedHunk, Together
from harness.views import DiffView

MOST_OTHERS = 4


class WaitingCall:
    """One of them, and what of its change is taken so far."""

    def __init__(self, request: ApprovalRequest) -> None:
        self.request = request

    @cached_property
    def review(self) -> Review | None:
        """Where there is only one change, yes and no are enough."""
        view = self.request.view
        if not (self.request.is_revisable and isinstance(view, DiffView)):
            return None
        count = len(hunks_of(view))
        return Review(count) if count > 1 else None

    @property
    def is_partial(self) -> bool:
        return self.review is not None and bool(self.review.refused)

    @property
    def yes(self) -> Once | Partly:
        """Yes to what is taken of it."""
        refused = self.review.refused if self.review else {}
        if not refused:
            return Once()
        return Partly(tuple(RefusedHunk(number, refused[number]) for number in sorted(refused)))


class WaitingCalls:
    """The one that is asked about, and the others of its request; `shown` is looked at."""

    def __init__(self, request: ApprovalRequest) -> None:
        self._calls = [WaitingCall(each) for each in (request, *request.others)]
        self.shown = self._calls[0]

    def __len__(self) -> int:
        return len(self._calls)

    def go(self, step: int) -> None:
        self.shown = self._calls[(self._calls.index(self.shown) + step) % len(self)]

    def said(self, approval: OneApproval) -> Approval:
        """The answer to what is shown."""
        return approval if self.shown is self._calls[0] else together([(self.shown.request, approval)])

    def allowed(self, tool: str = "") -> Together:
        """Yes to all that may be allowed by one answer, to each as far as it is taken."""
        free = self._allowable(tool)
        return together([(call.request, call.yes) for call in self._calls if call.request in free])

    def denied(self) -> Together:
        return denial_of_all([call.request for call in self._calls])

    def lines(self) -> list[str]:
        """Which one is shown, and what the others are."""
        others = [call.request for call in self._calls if call is not self.shown]
        request = self.shown.request
        place = (
            f"{request.position} of {request.total} calls of this reply{' · ← → shows the others' if others else ''}"
        )
        shown = [f"{each.position:3}  {named(each)}{_warning(each)}" for each in others[:MOST_OTHERS]]
        more = [f"     and {len(others) - MOST_OTHERS} more"] if len(others) > MOST_OTHERS else []
        return [place, *shown, *more]

    def answers(self) -> list[tuple[str, str, str]]:
        """What may be answered, each with its key, its action and its words."""
        request, review = self.shown.request, self.shown.review
        is_partial = self.shown.is_partial
        yes = f"Yes, {review.taken} of {review.count} changes" if review and is_partial else "Yes, once"
        # Yes and no are seen in the smallest terminal.
        answers = [("y", "once", yes), *([] if is_partial else lasting(request))]
        answers += [("n", "deny", "No"), ("d", "explain", "No, and say why")]
        answers += [] if is_partial else exactly(request)
        if len(self) > 1:
            answers += self._answers_to_all()
        if review:
            answers.append(("h", "review", f"Choose among the {review.count} changes"))
        if request.is_revisable:
            answers.append(("e", "rewrite", "Change it in your editor, then decide"))
        return answers

    def _answers_to_all(self) -> list[tuple[str, str, str]]:
        tool = self.shown.request.call.name
        free, same = len(self._allowable()), len(self._allowable(tool))
        which = f"all {free} that wait" if free == len(self) else f"the {free} that are not dangerous"
        answers = [("A", "allow_all", f"Yes to {which}")] if free > 1 else []
        if 1 < same < free and self.shown.request.risk.level != "dangerous":
            answers.append(("T", "allow_tool", f"Yes to all {same} of {one_line(tool)}"))
        return [*answers, ("N", "deny_all", f"No to all {len(self)} that wait")]

    def _allowable(self, tool: str = "") -> list[ApprovalRequest]:
        return allowable([call.request for call in self._calls], tool)


def _warning(request: ApprovalRequest) -> str:
    return "  (dangerous)" if request.risk.level == "dangerous" else ""
