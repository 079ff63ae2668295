"""Approval policy, a pure function of approval mode, risk and permission rules; and the modes of an agent.

A mode, planning or executing, determines the tools offered and an addendum to the prompt.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Literal, TypeAlias

from msgspec import Struct

from harness.approval.rules import Grants, exact_rule_for, rule_for, session_rules_for
from harness.instructions.prompts import prompt_text
from harness.ports.tool import Tool
from harness.risk import Risk, Rule

ApprovalMode: TypeAlias = Literal["on", "smart", "off"]
"""`on`: ask about everything that has an effect · `smart`: allow reading · `off`: ask nothing."""


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


Decision: TypeAlias = Allow | Ask | Deny


def decide(mode: ApprovalMode, risk: Risk, grants: Grants, tool_name: str) -> Decision:
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


_REASONS = {"read": "approval is on for every tool", "edit": "it changes files", "execute": "it runs a program"}


class Permissions(Struct):
    """The user's permissions, changeable at any time. Subagents share those of their agent, so none may do more."""

    mode: Mode
    """`PLAN` or `EXECUTE`."""
    approval: ApprovalMode
    """Approval mode."""
    grants: Grants
    """Permission rules."""


ModeName: TypeAlias = Literal["execute", "plan"]

SUBMIT_PLAN = "submit_plan"


class Mode(Struct, frozen=True):
    """A mode. Only the user changes it; a model can at most submit a plan."""

    name: ModeName
    """Name of the mode."""
    label: str
    """Name for users."""
    allows: Callable[[Tool], bool]
    """Returns True for tools that may be used."""
    prompt: str = ""
    """File in `instructions/prompts` that is appended to the system prompt; empty for none."""

    @property
    def addendum(self) -> str:
        return prompt_text(self.prompt) if self.prompt else ""


class Planning(Struct, frozen=True):
    """Options of a planning phase."""

    max_turns: int = 20
    """Maximum number of turns in plan mode; 0 = unlimited. If limited, they do not count for `Limits.max_turns`."""

    on_limit: Literal["end", "execute"] = "end"
    """At the limit, `end` ends the run in plan mode; `execute` ends the phase and continues with all tools."""

    review: bool = True
    """True to ask the user about a submitted plan; False to accept it as submitted."""


EXECUTE = Mode("execute", "Execute", allows=lambda tool: tool.name != SUBMIT_PLAN)
PLAN = Mode("plan", "Plan", allows=lambda tool: not tool.mutates or tool.name == SUBMIT_PLAN, prompt="plan")
MODES: dict[ModeName, Mode] = {mode.name: mode for mode in (EXECUTE, PLAN)}


def tools_of(mode: Mode, tools: Iterable[Tool]) -> tuple[Tool, ...]:
    """Return the tools offered in this mode, in their original order."""
    return tuple(tool for tool in tools if mode.allows(tool))
