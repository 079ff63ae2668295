"""Permission rules and decisions as text."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import suppress
from typing import TYPE_CHECKING

from msgspec import Struct

from cinch_tui.rendering.safe_text import one_line
from cinch_tui.reports.formatting import APPROVAL_MEANINGS
from harness.approval.assessment import validated
from harness.approval.store import RuleStore
from harness.errors import InvalidArguments
from harness.messages import ToolCall
from harness.permissions import Decision, Rule, describe
from harness.ports.tool import Tool

if TYPE_CHECKING:
    from harness.agent.agent import Agent

_VERDICTS = {"allow": "runs without asking", "ask": "needs approval", "deny": "never runs"}
_MOST_COMMANDS = 6


class RuleRow(Struct, frozen=True):
    """A permission rule in a list."""

    effect: str
    """`allow`, `ask` or `deny`."""
    rule: str
    """Text of the rule."""
    source: str
    """Level and place that it comes from."""
    uses: int
    """Number of calls that it has allowed."""
    last_used: str
    """Date of the last one, as YYYY-MM-DD; empty if there was none."""

    @property
    def usage(self) -> str:
        """The uses as text; empty for a rule that allows nothing."""
        if self.effect != "allow":
            return ""
        if not self.uses:
            return "unused"
        return f"{self.uses}×, {self.last_used}" if self.last_used else f"{self.uses}×"


def rule_rows(store: RuleStore) -> list[RuleRow]:
    """Return all rules that apply: those that deny first, then those that ask, each in order of precedence."""
    return [_row(store, rule) for effect in ("deny", "ask", "allow") for rule in store.of(effect)]


def _row(store: RuleStore, rule: Rule) -> RuleRow:
    usage = store.usage(rule)
    source = f"{rule.source}, {describe(rule)}" if rule.job else str(rule.source)
    return RuleRow(rule.effect, str(rule), source, usage.uses, usage.last_used)


def permissions_text(agent: Agent) -> str:
    """Return the approval mode and all permission rules as Markdown."""
    state = agent.state
    rows = rule_rows(state.permissions.store)
    table = ["No permission rules."]
    if rows:
        table = ["| Effect | Rule | Use | From |", "| --- | --- | --- | --- |"]
        table += [f"| {row.effect} | {_cell(row.rule)} | {row.usage} | {_plain_cell(row.source)} |" for row in rows]
    return "\n".join(
        (
            f"Approval {state.approval}: {APPROVAL_MEANINGS[state.approval]}.",
            "",
            *table,
            "",
            "`deny` comes before `ask`, `ask` before `allow`. Dangerous commands and changes of protected paths need "
            "approval whatever is allowed. `/permissions why last` explains the decision on the last call.",
        )
    )


def decision_text(call: ToolCall, tool: Tool | None, decision: Decision) -> str:
    """Return what happens to a call, and why, as Markdown.

    Args:
        call: The call.
        tool: Its tool; None if there is no such tool.
        decision: The decision on it.
    """
    rule = f", rule {_code(str(decision.rule))}" if decision.rule else ""
    why = one_line(decision.why).rstrip(".")
    lines = [
        f"{_code(f'{call.name} {_summary(call, tool)}')} {_VERDICTS[decision.kind]}: {why}.",
        "",
        f"- Decided by: {_plain_cell(decision.source)}{rule}",
        f"- Risk: {decision.risk.level}",
        *_commands(decision),
    ]
    if decision.offers:
        lines.append(f"- Rules that an approval for the session or the project adds: {_rules(decision.offers)}")
    if decision.job_offer:
        lines.append(f"- Rule that an approval for the session adds: {_rules((decision.job_offer,))}")
    if decision.exact_offer and decision.offers != (decision.exact_offer,):
        lines.append(f"- Rule for exactly this call: {_rules((decision.exact_offer,))}")
    return "\n".join(lines)


def _summary(call: ToolCall, tool: Tool | None) -> str:
    with suppress(InvalidArguments):
        return tool.summary(validated(tool, call.arguments)) if tool else ""
    return ""


def _commands(decision: Decision) -> Iterator[str]:
    """Yield the commands that do more than read, with the reason."""
    others = [each for each in decision.risk.commands if each.why]
    for each in others[:_MOST_COMMANDS]:
        yield f"- {_code(one_line(' '.join(each.words)))}: {one_line(each.why)}"
    if len(others) > _MOST_COMMANDS:
        yield f"- and {len(others) - _MOST_COMMANDS} more commands"


def _rules(rules: tuple[Rule, ...]) -> str:
    return ", ".join(_code(str(rule)) for rule in rules)


def _code(text: str) -> str:
    text = one_line(text)
    fence = "`" * (max(map(len, re.findall("`+", text)), default=0) + 1)
    pad = " " * (len(fence) > 1)
    return f"{fence}{pad}{text}{pad}{fence}"


def _cell(text: str) -> str:
    return _code(text).replace("|", "\\|")


def _plain_cell(text: str) -> str:
    return re.sub(r"([\\`*_\[\]<>|])", r"\\\1", one_line(text))
