"""What is said of calls that need approval, on the screen and in lines, and what an answer to several covers."""

from __future__ import annotations

from collections.abc import Sequence

from cinch_tui.transcript.plain import one_line
from harness.person import ApprovalRequest, Denied, ForCall, OneApproval, Together
from harness.tool import RiskLevel

RISKS: dict[RiskLevel, str] = {
    "none": "touches nothing",
    "read": "reads",
    "edit": "changes files",
    "execute": "runs a program",
    "dangerous": "dangerous",
    "forbidden": "forbidden",
}
MOST_FILES = 4


def why(request: ApprovalRequest, separator: str) -> str:
    """What may happen and why it is asked about, which files it touches, and where."""
    risk = request.risk
    reason = f": {one_line(risk.reason)}" if risk.reason else ""
    return separator.join((f"{RISKS[risk.level]}{reason}", *_touched(request), f"in {one_line(str(request.cwd))}"))


def named(request: ApprovalRequest) -> str:
    return f"{one_line(request.label)}  {one_line(request.summary)}".rstrip()


def lasting(request: ApprovalRequest) -> list[tuple[str, str, str]]:
    """The answers that hold for more than this call: key, action and words."""
    answers: list[tuple[str, str, str]] = []
    if request.can_trust:
        answers.append(("s", "session", "Yes, and trust it this session"))
    if request.rule:
        answers.append(("a", "always", f"Yes, and always allow {one_line(request.rule)} here"))
    return answers


def exactly(request: ApprovalRequest) -> list[tuple[str, str, str]]:
    """The one that holds for such a call and no other, where there is one."""
    words = f"Yes, and always allow {one_line(request.exact_rule)} here"
    return [("x", "exactly", words)] if request.exact_rule else []


def allowable(requests: Sequence[ApprovalRequest], tool: str = "") -> list[ApprovalRequest]:
    """Those that may be allowed by one answer, of this tool or of any: what is dangerous is asked about by itself."""
    return [each for each in requests if each.risk.level != "dangerous" and tool in ("", each.call.name)]


def denial_of_all(requests: Sequence[ApprovalRequest]) -> Together:
    return together([(each, Denied()) for each in requests])


def together(answers: Sequence[tuple[ApprovalRequest, OneApproval]]) -> Together:
    return Together(tuple(ForCall(request.call.id, approval) for request, approval in answers))


def _touched(request: ApprovalRequest) -> list[str]:
    """The files, where the heading does not name them already."""
    files = [path for path in request.risk.paths if path not in request.summary] + list(request.risk.touches)
    if not files:
        return []
    more = f" and {len(files) - MOST_FILES} more" if len(files) > MOST_FILES else ""
    verb = "reads" if request.risk.level == "read" else "changes"
    return [f"{verb} {', '.join(one_line(path) for path in files[:MOST_FILES])}{more}"]
