"""Whether a call may run: allowed, asked about, or denied. A pure function of mode, risk and grants."""

from __future__ import annotations

from typing import Literal, TypeAlias, get_args

from harness.approval.rules import Grants, Rule, exact_rule_for, rule_for, session_rules_for
from harness.lazy_dataclass import dataclass
from harness.ports.tool import Risk

ApprovalMode: TypeAlias = Literal["on", "smart", "off"]
"""on: everything that touches anything is asked about · smart: reading is free · off: nothing is asked."""
APPROVAL_MODES: tuple[ApprovalMode, ...] = get_args(ApprovalMode)


@dataclass(frozen=True, slots=True)
class Allow:
    pass


@dataclass(frozen=True, slots=True)
class Ask:
    """The user must approve. `rule` is what "always" would remember, `exact` what it would for such a call and no
    other; None where nothing may be remembered.

    `session` are the rules that an approval for the session adds; none where it would not have spared the question.
    """

    reason: str
    rule: Rule | None = None
    exact_rule: Rule | None = None
    session: tuple[Rule, ...] = ()


@dataclass(frozen=True, slots=True)
class Deny:
    """It never runs. `reason` is written for the model."""

    reason: str


Decision: TypeAlias = Allow | Ask | Deny


def decide(mode: ApprovalMode, risk: Risk, grants: Grants, tool_name: str) -> Decision:
    """What the person's settings say about one call.

    A forbidden call is denied in every mode. A dangerous one is asked about whatever was granted, unless the person
    has turned asking off.
    """
    if risk.level == "forbidden":
        return Deny(_refusal(risk))
    if risk.level == "none" or mode == "off":
        return Allow()
    if risk.level == "dangerous":
        return Ask(risk.reason or "this cannot be undone")
    if risk.level == "read" and mode == "smart":
        return Allow()
    if grants.covers(tool_name, risk):
        return Allow()
    return Ask(
        risk.reason or _REASONS[risk.level],
        rule_for(tool_name, risk),
        exact_rule_for(tool_name, risk),
        session_rules_for(tool_name, risk),
    )


_REASONS = {
    "read": "approval is on for every tool",
    "edit": "it changes files",
    "execute": "it runs a program",
}


def _refusal(risk: Risk) -> str:
    why = f": {risk.reason}" if risk.reason else ""
    return (
        f"Forbidden{why}. This never runs, whatever the user has allowed. "
        "Reach the goal in another way, or ask the user to do it by hand."
    )
