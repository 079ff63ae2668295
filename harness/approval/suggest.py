"""Permission rules suggested from past approvals."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Sequence
from pathlib import Path

from msgspec import Struct

from harness.approval.matching import Coverage, Target, unchanged
from harness.approval.offers import offers_for
from harness.approval.patterns import PREFIX, command_matches
from harness.approval.places import Places
from harness.permissions import Rule
from harness.risk import Risk

MOST_EXAMPLES = 3


class PastCall(Struct, frozen=True):
    """A call that the user decided on."""

    tool: str
    """Name of the tool."""
    text: str
    """The call in one line: the command, the path."""
    risk: Risk
    """Risk assessment, as of today."""
    is_allowed: bool
    """True if the user allowed it."""


class Suggestion(Struct, frozen=True):
    """A rule that would have spared approvals."""

    rule: Rule
    """The rule."""
    count: int
    """Number of approvals it would have spared."""
    matching: tuple[str, ...]
    """Past calls that it covers."""
    others: tuple[str, ...]
    """Calls that it does not cover, as similar as possible."""


def suggest(calls: Iterable[PastCall], root: Path, rules: Sequence[Rule] = (), at_least: int = 3) -> list[Suggestion]:
    """Return rules for calls that the user allowed again and again, most useful first.

    Nothing is suggested for dangerous calls, for protected paths and secrets, for single files, and for what covers a
    call that the user denied.

    Args:
        calls: Past calls.
        root: Workspace root.
        rules: Rules that exist already.
        at_least: Number of approvals that a rule must have spared.
    """
    asked = [call for call in calls if not Coverage(_target(call, root), rules).find()]
    allowed = [call for call in asked if call.is_allowed and _is_harmless(call.risk)]
    candidates = dict.fromkeys(
        rule for call in allowed for rule in offers_for(_target(call, root), unchanged) if _is_general(rule)
    )
    found = [_suggestion(rule, asked, root) for rule in candidates]
    useful = [each for each in found if each is not None and each.count >= at_least]
    return sorted(useful, key=lambda each: -each.count)


def _suggestion(rule: Rule, calls: Sequence[PastCall], root: Path) -> Suggestion | None:
    """Return the rule with its examples; None if it covers a call that the user denied."""
    covered = [call for call in calls if _is_part(rule, call, root)]
    if not all(call.is_allowed for call in covered):
        return None
    count = sum(_is_harmless(call.risk) for call in covered)
    matching = tuple(dict.fromkeys(call.text for call in covered))[:MOST_EXAMPLES]
    return Suggestion(rule, count, matching, _others(rule, calls, root))


def _is_part(rule: Rule, call: PastCall, root: Path) -> bool:
    """Return True if the rule covers the call or a command of it."""
    if call.tool != rule.tool:
        return False
    if rule.pattern and call.risk.commands:
        return any(command_matches(rule.pattern, command.words) for command in call.risk.commands)
    return bool(Coverage(_target(call, root), (rule,)).find())


def _others(rule: Rule, calls: Sequence[PastCall], root: Path) -> tuple[str, ...]:
    """Return past calls of the tool that the rule does not cover, and made-up ones that look similar."""
    if not rule.pattern.endswith(PREFIX):
        other = (call.text for call in calls if call.tool == rule.tool and not _is_part(rule, call, root))
        return tuple(dict.fromkeys(other))[:MOST_EXAMPLES]
    words = shlex.split(rule.pattern.removesuffix(PREFIX))
    near = [
        call.text
        for call in calls
        if call.tool == rule.tool
        and not _is_part(rule, call, root)
        and any(command.words[:1] == tuple(words[:1]) for command in call.risk.commands)
    ]
    made_up = [shlex.join((*words[:-1], f"{words[-1]}x"))]
    if len(words) > 1:
        made_up.insert(0, shlex.join(words[:-1]))
    return tuple(dict.fromkeys((*near, *made_up)))[:MOST_EXAMPLES]


def _is_general(rule: Rule) -> bool:
    return not rule.is_exact and (not rule.pattern or rule.pattern.endswith(PREFIX))


def _is_harmless(risk: Risk) -> bool:
    return risk.level in ("read", "edit", "execute") and not risk.concern


def _target(call: PastCall, root: Path) -> Target:
    return Target(call.tool, call.risk, Places(root))
