"""All checks: this machine, then the services concurrently, reported in a fixed order."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import field
from pathlib import Path
from typing import TypeAlias

from cinch_tui.api_keys.credentials import KeyStore
from cinch_tui.assembly import full_name
from cinch_tui.cli.start import config_sources
from cinch_tui.config.layers import Config, load_config
from cinch_tui.config.paths import Paths
from cinch_tui.doctor.findings import Finding
from cinch_tui.doctor.machine import machine_findings
from cinch_tui.doctor.service import Timeouts, check_service, check_setup
from cinch_tui.doctor.targets import Target, configured_targets, named_targets
from cinch_tui.models.last_choice import ModelChoice, load_choice
from harness.errors import ConfigError
from harness.lazy_dataclass import dataclass
from providers.installed import BUILTIN, all_presets, preset_for, problems
from providers.model_catalog.local_servers import find_local_servers

OnFinding: TypeAlias = Callable[[Finding], None]


@dataclass(frozen=True, slots=True)
class CheckRequest:
    """Scope of the checks."""

    names: Sequence[str] = ()
    """Providers or models to check; empty: everything that is set up."""

    is_offline: bool = False
    """True to send no requests."""

    timeouts: Timeouts = field(default_factory=Timeouts)


@dataclass(frozen=True, slots=True)
class Setup:
    """Keys, configuration and models to check."""

    keys: KeyStore
    config: Config | ConfigError
    """The configuration, or the error if it cannot be loaded."""

    chosen: Sequence[ModelChoice]
    """Models in use, in the settings, or chosen last."""


def setup_for(paths: Paths, cwd: Path, in_use: ModelChoice | None = None) -> Setup:
    """Return the setup of a folder.

    Args:
        paths: folders of cinch.
        cwd: the folder.
        in_use: the model in use, checked before those in the settings.
    """
    keys = KeyStore(paths, os.environ)
    chosen = [in_use] if in_use else []
    try:
        config = load_config(config_sources(paths, cwd))
    except ConfigError as error:
        return Setup(keys, error, chosen)
    named, last = config.settings.model, load_choice(paths.choice_file)
    if named.name:
        chosen.append(ModelChoice(named.name if named.base_url else _full_name(named.name, keys), named.base_url))
    chosen += [ModelChoice(_full_name(name, keys)) for name in config.settings.providers.fallback]
    return Setup(keys, config, [*chosen, *([last] if last else [])])


def _full_name(name: str, keys: KeyStore) -> str:
    """Return the name with its provider; unchanged if it cannot be resolved, which another check reports."""
    try:
        return full_name(name, keys)
    except ConfigError:
        return name


async def run_checks(request: CheckRequest, setup: Setup, report: OnFinding) -> None:
    """Run the checks and report each finding as soon as possible, in a fixed order.

    Raises:
        ConfigError: a name is not that of a provider.
    """
    targets = await (_named(request, setup, report) if request.names else _set_up(request, setup, report))
    if request.is_offline:
        _report_all([check_setup(target) for target in targets], report)
        return
    async with asyncio.TaskGroup() as group:
        checks = [group.create_task(check_service(target, request.timeouts)) for target in targets]
        for running in checks:
            _report_all(await running, report)


async def _named(request: CheckRequest, setup: Setup, report: OnFinding) -> list[Target]:
    _report_all(_without_service(request.names), report)
    asked = [name for name in request.names if name.partition("/")[0] not in BUILTIN]
    return await asyncio.to_thread(named_targets, asked, setup.keys, setup.chosen)


async def _set_up(request: CheckRequest, setup: Setup, report: OnFinding) -> list[Target]:
    _report_all(machine_findings(setup.keys, setup.config), report)
    local = [] if request.is_offline else await find_local_servers()
    targets = await asyncio.to_thread(configured_targets, setup.keys, setup.chosen, local)
    _report_all(_overview(setup, targets, request), report)
    return targets


def _report_all(findings: Iterable[Finding], report: OnFinding) -> None:
    for finding in findings:
        report(finding)


def _overview(setup: Setup, targets: Sequence[Target], request: CheckRequest) -> Iterator[Finding]:
    yield from _without_service([choice.name for choice in setup.chosen])
    for problem in problems():
        yield Finding("note", "providers", problem)
    for choice in setup.chosen:
        if choice.name.partition("/")[0] in BUILTIN:
            continue
        try:
            preset_for(choice.name)
        except ConfigError as error:
            yield Finding("bad", "model", f"{choice.name}: {error}", "list the providers: cinch models --providers")
    if not targets:
        message = "no API key and no local server found"
        yield Finding("note", "services", message, "enter a key in the app, or take the tour: cinch demo")
        return
    names = ", ".join(dict.fromkeys(target.preset.name for target in targets))
    verb = "configured:" if request.is_offline else "checking"
    more = len(all_presets()) - len({target.preset.name for target in targets})
    yield Finding("ok", "services", f"{verb} {names}; {more} other providers: cinch models --providers")


def _without_service(names: Iterable[str]) -> Iterator[Finding]:
    for name in names:
        if name.partition("/")[0] in BUILTIN:
            yield Finding("ok", "model", f"{name} needs no service")
