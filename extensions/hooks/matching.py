"""Decision which hooks run: by the names of a tool or the kind of an event, and by a permission rule.

Source: https://code.claude.com/docs/en/hooks, "Matcher patterns".
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator
from functools import cache

from extensions.hooks.config import TOOL_EVENTS, HookHandler
from harness.approval.claude_tools import CLAUDE_TOOLS, tools_named
from harness.approval.matching import Target, affects
from harness.approval.places import Places
from harness.approval.rules import parse_rule
from harness.errors import ConfigError
from harness.permissions import SHELL, Rule
from harness.ports.tool import REPLACED_TOOLS
from harness.risk import Risk

_NAMES = re.compile(r"[\w\s,|-]+")
_WITHOUT_EVENT = ("UserPromptSubmit", "Stop", "TurnsElapsed")
"""Events whose matchers have no effect."""
_CONDITION = re.compile(r"(?P<tool>[\w-]+)(?P<pattern>\(.*\))?", re.DOTALL)


@cache
def names_of(tool: str) -> frozenset[str]:
    """Return the names of a tool that matchers may use: those of cinch and Claude Code, also of tools it replaces."""
    # Its tools for notebooks change cells, which no tool of cinch does.
    named = (name for name, each in CLAUDE_TOOLS.items() if tool in each.tools and not name.startswith("Notebook"))
    replaced = (names_of(each) for each in REPLACED_TOOLS.get(tool, ()))
    return frozenset((tool, *named)).union(*replaced)


def matches(handler: HookHandler, names: Collection[str]) -> bool:
    """Return True if a matcher accepts one of the names."""
    matcher = handler.matcher
    if matcher in ("", "*") or handler.event in _WITHOUT_EVENT:
        return True
    if _NAMES.fullmatch(matcher):
        return any(each.strip() in names for each in re.split(r"[|,]", matcher))
    return any(re.search(matcher, name) for name in names)


def distinct(handlers: Iterable[HookHandler]) -> Iterator[HookHandler]:
    """Yield hooks without those that do the same as an earlier one."""
    seen = set[tuple[object, ...]]()
    for each in handlers:
        if each.identity not in seen:
            seen.add(each.identity)
            yield each


def applies(handler: HookHandler, tool: str, risk: Risk | None, root: str) -> bool:
    """Return True if a call matches the condition of a hook; also if that cannot be determined.

    Args:
        handler: The hook.
        tool: Name of the tool; empty for an event that is not about a call.
        risk: Risk assessment of the call; None if it could not be assessed.
        root: Workspace root.
    """
    if not handler.condition:
        return True
    if handler.event not in TOOL_EVENTS:
        return False
    found = _CONDITION.fullmatch(handler.condition.strip())
    if found is None or risk is None:
        return True
    named = next((each for each in (tool, risk.rule_name) if each in tools_named(found["tool"])), None)
    if named is None:
        return False
    rule = _rule(named, found["pattern"] or "")
    if rule is None or (named == SHELL and not risk.commands):
        return True
    return affects(rule, Target(tool, risk, Places(root)))


@cache
def _rule(tool: str, pattern: str) -> Rule | None:
    """Return the rule of a condition; None if it is not valid."""
    try:
        return parse_rule(f"{tool}{'' if pattern in ('()', '(*)') else pattern}", "ask")
    except ConfigError:
        return None
