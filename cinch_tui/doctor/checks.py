"""One examination: this machine, then the services, all at once and told in their order."""

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
    """What to look at: the services that are named, or everything. `is_offline`: without asking anybody."""

    names: Sequence[str] = ()
    is_offline: bool = False
    timeouts: Timeouts = field(default_factory=Timeouts)


@dataclass(frozen=True, slots=True)
class Setup:
    """What is set up. `config` is the error where it cannot be loaded; `chosen` are the models that were named."""

    keys: KeyStore
    config: Config | ConfigError
    chosen: Sequence[ModelChoice]


def setup_for(paths: Paths, cwd: Path, in_use: ModelChoice | None = None) -> Setup:
    """What is set up for a folder; `in_use` is a model that goes before all that are named."""
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
    """The name as a start resolves it; unchanged where that fails, for a finding of its own."""
    try:
        return full_name(name, keys)
    except ConfigError:
        return name


async def run_checks(wish: CheckRequest, setup: Setup, tell: OnFinding) -> None:
    """Tell each finding as soon as it is certain, and all of them in an order that does not change.

    Raises:
        ConfigError: a name is no provider's.
    """
    targets = await (_named(wish, setup, tell) if wish.names else _set_up(wish, setup, tell))
    if wish.is_offline:
        _tell_all([check_setup(target) for target in targets], tell)
        return
    async with asyncio.TaskGroup() as group:
        checks = [group.create_task(check_service(target, wish.timeouts)) for target in targets]
        for running in checks:
            _tell_all(await running, tell)


async def _named(wish: CheckRequest, setup: Setup, tell: OnFinding) -> list[Target]:
    _tell_all(_without_service(wish.names), tell)
    asked = [name for name in wish.names if name.partition("/")[0] not in BUILTIN]
    return await asyncio.to_thread(named_targets, asked, setup.keys, setup.chosen)


async def _set_up(wish: CheckRequest, setup: Setup, tell: OnFinding) -> list[Target]:
    _tell_all(machine_findings(setup.keys, setup.config), tell)
    local = [] if wish.is_offline else await find_local_servers()
    targets = await asyncio.to_thread(configured_targets, setup.keys, setup.chosen, local)
    _tell_all(_overview(setup, targets, wish), tell)
    return targets


def _tell_all(findings: Iterable[Finding], tell: OnFinding) -> None:
    for finding in findings:
        tell(finding)


def _overview(setup: Setup, targets: Sequence[Target], wish: CheckRequest) -> Iterator[Finding]:
    yield from _without_service([choice.name for choice in setup.chosen])
    for problem in problems():
        yield Finding("note", "providers", problem)
    for choice in setup.chosen:
        if choice.name.partition("/")[0] in BUILTIN:
            continue
        try:
            preset_for(choice.name)
        except ConfigError as error:
            yield Finding("bad", "model", f"{choice.name} is chosen: {error}", "cinch models lists the providers")
    if not targets:
        told = "no key and no local server"
        yield Finding("note", "services", told, "enter a key in the app, or take the tour: cinch demo")
        return
    names = ", ".join(dict.fromkeys(target.preset.name for target in targets))
    verb = "set up:" if wish.is_offline else "asks"
    more = len(all_presets()) - len({target.preset.name for target in targets})
    yield Finding("ok", "services", f"{verb} {names}; {more} more could be set up: cinch models --providers")


def _without_service(names: Iterable[str]) -> Iterator[Finding]:
    for name in names:
        if name.partition("/")[0] in BUILTIN:
            yield Finding("ok", "model", f"{name} needs no service")
