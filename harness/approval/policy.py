"""Approval policy: a pure function of approval mode, risk and permission rules."""

from __future__ import annotations

from msgspec import Struct

from harness.approval.grants import Grants, exact_rule_for, rule_for, session_rules_for
from harness.approval.modes import ApprovalMode, Mode
from harness.risk import Risk, RiskLevel, Rule


class Allow(Struct, frozen=True):
    pass


class Ask(Struct, frozen=True):
    """The user must approve the call."""

    reason: str
    """Explanation for the user."""
    rule: Rule | None = None
    """Rule that "always allow" stores; None if nothing may be stored."""
    exact_rule: Rule | None = None
    """Rule for exactly this call; None if nothing may be stored."""
    session: tuple[Rule, ...] = ()
    """Rules that an approval for the session adds; empty if they would not cover the call."""


class Deny(Struct, frozen=True):
    """The call never runs."""

    reason: str
    """Explanation for the model."""


def decide(mode: ApprovalMode, risk: Risk, grants: Grants, tool_name: str) -> Allow | Ask | Deny:
    """Apply the user's settings to one call.

    A forbidden call is denied in every mode. A dangerous one needs approval whatever was granted, unless approval is
    off.
    """
    if risk.level == "forbidden":
        why = f": {risk.reason}" if risk.reason else ""
        return Deny(
            f"Forbidden{why}. This never runs, whatever the user has allowed. "
            "Find another way, or ask the user to do it manually."
        )
    if risk.level == "none" or mode == "off":
        return Allow()
    if risk.level == "dangerous":
        return Ask(risk.reason or "this cannot be undone")
    if risk.level in _ALLOWED_LEVELS[mode]:
        return Allow()
    if grants.covers(tool_name, risk):
        return Allow()
    return Ask(
        risk.reason or _REASONS[risk.level],
        rule_for(tool_name, risk),
        exact_rule_for(tool_name, risk),
        session_rules_for(tool_name, risk),
    )


_ALLOWED_LEVELS: dict[ApprovalMode, tuple[RiskLevel, ...]] = {"on": (), "smart": ("read",), "edits": ("read", "edit")}
_REASONS = {"read": "approval is on for every tool", "edit": "it changes files", "execute": "it runs a program"}


class Permissions(Struct):
    """The user's permissions, changeable at any time. Subagents share those of their agent, so none may do more."""

    mode: Mode
    """`PLAN` or `EXECUTE`."""
    approval: ApprovalMode
    """Approval mode."""
    grants: Grants
    """Permission rules."""
