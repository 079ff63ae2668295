"""Texts and answer options of approvals, for the app and plain mode."""

from __future__ import annotations

from collections.abc import Sequence

from cinch_tui.rendering.safe_text import mark_invisible, one_line
from harness.approval.rules import describe
from harness.lazy_dataclass import dataclass
from harness.risk import RiskLevel
from harness.user_requests import ApprovalDecision, ApprovalRequest, BatchApproval, CallApproval, Denied
from harness.views import TerminalView

RISKS: dict[RiskLevel, str] = {
    "none": "no side effects",
    "read": "reads",
    "edit": "changes files",
    "execute": "runs a program",
    "dangerous": "dangerous",
    "forbidden": "forbidden",
}
MOST_FILES = 4
LONGEST_RULE = 60


def why(request: ApprovalRequest, separator: str) -> str:
    """Return risk, reason, affected files and working directory."""
    risk = request.risk
    reason = f": {one_line(risk.reason)}" if risk.reason else ""
    return separator.join((f"{RISKS[risk.level]}{reason}", *_touched(request), f"in {one_line(str(request.cwd))}"))


def call_title(request: ApprovalRequest) -> str:
    return f"{one_line(request.label)}  {one_line(request.summary)}".rstrip()


@dataclass(frozen=True, slots=True)
class AnswerOption:
    """An answer option of a dialog."""

    key: str
    """Its letter."""
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
    is_whole = request.summary == view.command == mark_invisible(view.command) and name.endswith(view.command)
    return is_whole and len(name) <= width


PLAN_ANSWERS = (
    ("y", "accept", "Accept", "Accept"),
    ("a", "accept_with_edits", "Accept and allow all edits this session", "Accept with edits"),
    ("n", "reject", "Keep planning", "Keep planning"),
    ("d", "keep_planning", "Keep planning, with feedback", "Feedback"),
    ("e", "edit", "Edit in $EDITOR", "Edit"),
)
"""Answers to a plan: key, action, text, short text."""


def always_label(request: ApprovalRequest) -> list[AnswerOption]:
    """Return the options that allow more than this call."""
    answers: list[AnswerOption] = []
    if request.session:
        answers.append(AnswerOption("s", "session", f"Allow {_session(request)} this session", "Session"))
    if request.rule:
        always = f"Always allow {one_line(request.rule)} in this project"
        answers.append(AnswerOption("a", "always", always, "Project"))
    return answers


def exact_label(request: ApprovalRequest) -> list[AnswerOption]:
    """Return the option that allows exactly this call, if there is one."""
    if not request.exact_rule:
        return []
    rule = one_line(request.exact_rule)
    which = "exactly this command" if request.risk.level == "execute" or len(rule) > LONGEST_RULE else rule
    return [AnswerOption("x", "exactly", f"Always allow {which} in this project", "Exactly this")]


def _session(request: ApprovalRequest) -> str:
    """Describe the scope of a session approval."""
    if any(rule.exact for rule in request.session):
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
    files = [path for path in request.risk.paths if path not in request.summary] + list(request.risk.additional_paths)
    if not files:
        return []
    more = f" and {len(files) - MOST_FILES} more" if len(files) > MOST_FILES else ""
    verb = "reads" if request.risk.level == "read" else "changes"
    return [f"{verb} {', '.join(one_line(path) for path in files[:MOST_FILES])}{more}"]
