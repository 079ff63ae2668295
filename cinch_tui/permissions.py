"""Permission rules of a start, from the settings and the project's rules file."""

from __future__ import annotations

from collections.abc import Iterator, Set
from pathlib import Path

from cinch_tui.config.options import Options
from cinch_tui.config.settings import Settings
from harness.approval.grants import Grants
from harness.risk import Rule
from harness.session.paths import project_dir


def load_grants(options: Options, settings: Settings, root: Path) -> tuple[Grants, list[str]]:
    """Return the permission rules of a folder, and problems with them."""
    rules = project_dir(options.paths.data, root) / "rules.json"
    named = [Rule(tool, scope) for tool, _, scope in (entry.partition(":") for entry in settings.approval.allow)]
    grants = Grants(rules, rules=[rule for rule in named if rule.scope])
    problem = grants.load()
    return grants, [problem] if problem else []


def allow_tools(grants: Grants, settings: Settings) -> None:
    """Allow the tools that the settings allow as a whole; a new session has forgotten them."""
    for entry in settings.approval.allow:
        if ":" not in entry:
            grants.trust(entry)


def ineffective_allowances(settings: Settings, tools: Set[str]) -> Iterator[str]:
    """Yield a warning for each entry of `approval.allow` that has no effect."""
    for entry in settings.approval.allow:
        tool, colon, scope = entry.partition(":")
        if tool not in tools:
            yield f"approval.allow: {entry!r} has no effect: unknown tool"
        elif colon and not scope.strip():
            yield f"approval.allow: {entry!r} has no effect: no command after the colon"
        elif scope and tool != "bash":
            yield f"approval.allow: {entry!r} has no effect: only bash commands have a prefix, as in 'bash:make test'"
