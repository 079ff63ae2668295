"""Checks of installed Python packages that extend cinch."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from cinch_tui.commands.packages import package_commands
from cinch_tui.doctor.findings import Finding
from cinch_tui.installed_packages import package_hooks, package_themes, package_tools
from cinch_tui.task_session import package_classifiers
from harness.entry_points import PackageObjects
from harness.errors import ConfigError
from harness.parallel.evaluators import package_evaluators
from providers.installed import installed_providers


def package_findings() -> Iterator[Finding]:
    """Import what packages offer; yield one finding for each package, then one for each object that cannot be used."""
    offers: dict[str, list[str]] = {}
    problems: list[Finding] = []
    for objects in _all_objects():
        for entry, found in objects.each():
            if isinstance(found, ConfigError):
                problems.append(Finding("note", "packages", str(found)))
            else:
                offers.setdefault(entry.source, []).append(f"{entry.kind} {entry.name}")
    for source, names in sorted(offers.items()):
        yield Finding("ok", "packages", f"{source}: {', '.join(names)}")
    yield from problems


def _all_objects() -> Iterator[PackageObjects[Any]]:  # of all kinds
    yield installed_providers()
    yield package_tools()
    yield package_commands()
    yield package_hooks()
    yield package_themes()
    yield package_evaluators()
    yield package_classifiers()
