"""Approvals for the app and plain mode: texts, answer options, and the pending calls of a reply."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property
from pathlib import PurePath

from msgspec import Struct

from cinch_tui.rendering.review import Review
from cinch_tui.rendering.safe_text import one_line
from harness.permissions import describe
from harness.terminal_text import escape_controls
from harness.user_requests import (
    AllowHunks,
    AllowOnce,
    Approval,
    ApprovalDecision,
    ApprovalRequest,
    BatchApproval,
    CallApproval,
    Denied,
    RejectedHunk,
)
from harness.views import DiffView, TerminalView, TextView, View
from harness.workspace.hunks import hunks_of

MOST_FILES = 4
LONGEST_RULE = 60


def reason_text(request: ApprovalRequest, separator: str) -> str:
    """Return why the call needs approval, the origin of that decision, affected files and working directory."""
    risk, decision = request.risk, request.decision
    why = one_line(decision.why)
    if risk.reason and risk.reason not in decision.why:
        why = f"{why}: {one_line(risk.reason)}"
    danger = f"{risk.level}: " if risk.level in ("dangerous", "forbidden") else ""
    source = f" ({one_line(decision.source)})" if decision.source else ""
    return separator.join((f"{danger}{why}{source}", *_touched(request), f"in {one_line(str(request.cwd))}"))


def proposal_in(view: View | None) -> tuple[str, str, Callable[[str], str]]:
    """Return the editable text of a view, a file name for it, and what removes the newline that editors add."""
    match view:
        case DiffView(path=path, new=new):
            return new or "", PurePath(path).name or "proposal.txt", str
        case TerminalView(command=command):
            return command, "command.sh", str.rstrip
        case TextView(editable=text):
            return text, "text.md", str.rstrip
        case _:
            return "", "proposal.txt", str


def call_title(request: ApprovalRequest) -> str:
    return f"{one_line(request.label)}  {one_line(request.summary)}".rstrip()


class AnswerOption(Struct, frozen=True):
    """An answer option of a dialog."""

    key: str
    """Its letter in plain mode, its key in the app."""
    action: str
    """Name of its action."""
    text: str
    short: str
    """Text for narrow terminals."""


def is_named_in_full(request: ApprovalRequest, width: int) -> bool:
    """Return True for a command whose title of at most `width` characters shows all of it."""
    view = request.view
    if not isinstance(view, TerminalView):
        return False
    name = call_title(request)
    is_whole = request.summary == view.command == escape_controls(view.command) and name.endswith(view.command)
    return is_whole and len(name) <= width


PLAN_ANSWERS = (
    AnswerOption("y", "accept", "Accept", "Accept"),
    AnswerOption("a", "accept_with_edits", "Accept and allow all edits this session", "Accept with edits"),
    AnswerOption("n", "reject", "Keep planning", "Keep planning"),
    AnswerOption("d", "keep_planning", "Keep planning, with feedback", "Feedback"),
    AnswerOption("e", "edit", "Edit in $EDITOR", "Edit"),
)


BRIEF_ANSWERS = (
    AnswerOption("y", "accept", "Start a new session with it", "Start"),
    AnswerOption("e", "edit", "Edit in $EDITOR", "Edit"),
    AnswerOption("n", "reject", "Cancel", "Cancel"),
)


def answers_to(
    request: ApprovalRequest, *others: AnswerOption, allow: str = "Allow once", is_partial: bool = False
) -> list[AnswerOption]:
    """Return the options for one call; `others` follow those that deny it. A partial approval has no wider scope."""
    options = [AnswerOption("y", "once", allow, "Once")]
    if request.session and not is_partial:
        options.append(AnswerOption("s", "session", f"Allow {offered_rules(request)} this session", "Session"))
    if request.rule and not is_partial:
        always = f"Always allow {one_line(request.rule)} in this project"
        options.append(AnswerOption("a", "always", always, "Project"))
    if request.server_rule and not is_partial:
        server = f"Always allow all tools of {one_line(request.server_rule)} in this project"
        options.append(AnswerOption("m", "server", server, "Server"))
    options += [AnswerOption("n", "deny", "Deny", "Deny"), AnswerOption("d", "explain", "Deny with reason", "Reason")]
    options += others
    if request.exact_rule and not is_partial and not _is_same_path(request):
        rule = one_line(request.exact_rule)
        which = "exactly this command" if request.risk.level == "execute" or len(rule) > LONGEST_RULE else rule
        options.append(AnswerOption("x", "exactly", f"Always allow {which} in this project", "Exactly this"))
    return options


def _is_same_path(request: ApprovalRequest) -> bool:
    """Return True if the rule that "always" adds covers the same path as the exact one, for more tools."""
    exact, offers = request.decision.exact_offer, request.decision.offers
    return (
        exact is not None
        and not exact.is_exact
        and exact not in offers
        and [r.pattern for r in offers] == [exact.pattern]
    )


def offered_rules(request: ApprovalRequest) -> str:
    """Describe the scope of a session approval."""
    if any(rule.is_exact for rule in request.session):
        return "exactly this command"
    *others, last = [one_line(describe(rule)) for rule in request.session]
    return f"{', '.join(others)} and {last}" if others else last


def allowable(requests: Sequence[ApprovalRequest], tool: str = "") -> list[ApprovalRequest]:
    """Return the calls, of one tool or any, that one answer may allow; dangerous ones are approved one by one."""
    return [each for each in requests if each.risk.level != "dangerous" and tool in ("", each.call.name)]


def number_of(free: int, total: int) -> str:
    """Describe the calls that one answer allows."""
    return f"all {total}" if free == total else f"the {free} that are not dangerous"


def calls_of(request: ApprovalRequest, count: int) -> str:
    """Describe calls of the same tool: "both edits", "all 3 commands"."""
    nouns = {"edit": "edits", "execute": "commands"}
    noun = nouns.get(request.risk.level) or f"{one_line(request.call.name)} calls"
    return f"both {noun}" if count == 2 else f"all {count} {noun}"


def denial_of_all(requests: Sequence[ApprovalRequest]) -> BatchApproval:
    return batch_approval([(each, Denied()) for each in requests])


def batch_approval(answers: Sequence[tuple[ApprovalRequest, ApprovalDecision]]) -> BatchApproval:
    return BatchApproval(tuple(CallApproval(request.call.id, approval) for request, approval in answers))


def _touched(request: ApprovalRequest) -> list[str]:
    """Return the affected files unless the heading names them."""
    files = [path for path in request.risk.paths if path not in request.summary]
    files += [each.path for each in request.risk.accesses if each.kind == "write"]
    if not files:
        return []
    more = f" and {len(files) - MOST_FILES} more" if len(files) > MOST_FILES else ""
    verb = "reads" if request.risk.level == "read" else "changes"
    return [f"{verb} {', '.join(one_line(path) for path in files[:MOST_FILES])}{more}"]


MOST_OTHERS = 4
LIST_INDENT = 5


class PendingCall:
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
    def approval(self) -> AllowOnce | AllowHunks:
        """Return the approval of the accepted hunks."""
        refused = self.review.rejected if self.review else {}
        if not refused:
            return AllowOnce()
        return AllowHunks(tuple(RejectedHunk(number, refused[number]) for number in sorted(refused)))


class PendingCalls:
    """The call to approve and the other pending calls; `shown` is the visible one."""

    def __init__(self, request: ApprovalRequest) -> None:
        self._calls = [PendingCall(each) for each in (request, *request.others)]
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

    def show_next(self, step: int) -> None:
        self.shown = self._calls[(self._calls.index(self.shown) + step) % len(self)]

    def approval_of(self, approval: ApprovalDecision) -> Approval:
        """Return the approval for the visible call."""
        return approval if self.shown is self._calls[0] else batch_approval([(self.shown.request, approval)])

    def allowed(self, tool: str = "") -> BatchApproval:
        """Approve all calls that one answer may allow, except their rejected hunks."""
        free = self._allowable(tool)
        return batch_approval([(call.request, call.approval) for call in self._calls if call.request in free])

    def denied(self) -> BatchApproval:
        return denial_of_all([call.request for call in self._calls])

    def lines(self) -> list[str]:
        """Return the position of the visible call and the titles of the others."""
        others = [call.request for call in self._calls if call is not self.shown]
        request = self.shown.request
        place = (
            f"{request.position} of {request.total} calls of this reply{' · ← → shows the others' if others else ''}"
        )
        shown = [
            f"{each.position:3}  {call_title(each)}{'  (dangerous)' * (each.risk.level == 'dangerous')}"
            for each in others[:MOST_OTHERS]
        ]
        more = [f"     and {len(others) - MOST_OTHERS} more"] if len(others) > MOST_OTHERS else []
        return [place, *shown, *more]

    def answers(self) -> list[AnswerOption]:
        """Return the options for the visible call."""
        request, review = self.shown.request, self.shown.review
        others: list[AnswerOption] = []
        if review:
            others.append(AnswerOption("h", "review", f"Choose among {review.count} changes", "Choose"))
        if request.is_revisable:
            others.append(AnswerOption("e", "rewrite", "Edit in $EDITOR", "Edit"))
        is_partial = bool(review and review.rejected)
        allow = f"Allow {review.accepted} of {review.count} changes" if review and is_partial else "Allow once"
        answers = answers_to(request, *others, allow=allow, is_partial=is_partial)
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
