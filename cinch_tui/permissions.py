"""Permission rules of a start, from the settings and the project's rules file."""

from __future__ import annotations

from collections.abc import Iterator, Set
from pathlib import Path

from cinch_tui.config.options import Options
from cinch_tui.config.settings import Settings
from harness.approval.store import RuleFile, RuleStore
from harness.permissions import RuleSource
from harness.session.paths import project_dir


def load_rules(options: Options, settings: Settings, root: Path) -> tuple[RuleStore, list[str]]:
    """Return the permission rules of a folder, and problems with them."""
    store = RuleStore(project_dir(options.paths.data, root) / "rules.json")
    named = tuple(entry for entry in settings.approval.allow if ":" not in entry or entry.partition(":")[2].strip())
    return store, store.load([RuleFile(RuleSource("user", "approval.allow"), allow=named)])


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
