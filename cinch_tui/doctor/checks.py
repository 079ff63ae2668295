"""All checks: this machine, then the services concurrently, reported in a fixed order."""

from __future__ import annotations

import asyncio
import os
import platform
import shutil
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import TypeAlias

from msgspec import Struct, field
from msgspec.structs import replace

from cinch_tui import __version__
from cinch_tui.api_keys.key_store import KeyStore
from cinch_tui.config.config import Config
from cinch_tui.config.layers import load_config
from cinch_tui.config.options import Options
from cinch_tui.config.paths import Paths, load_json
from cinch_tui.doctor.findings import Finding, lines
from cinch_tui.doctor.packages import package_findings
from cinch_tui.doctor.service import Timeouts, check_service, check_setup
from cinch_tui.doctor.targets import Target, configured_targets, named_targets
from cinch_tui.models.connecting import ModelChoice, full_name
from harness.entry_points import disable_packages
from harness.errors import ConfigError
from harness.workspace.disk import is_there
from providers.installed import BUILTIN, all_presets, preset_for
from providers.model_catalog.local_servers import find_local_servers
from tools.ripgrep import RipgrepMissing, ripgrep_path

BLOCK_WIDTH = 74
"""Fits into 80 columns together with the margin of a block."""

OnFinding: TypeAlias = Callable[[Finding], None]


class CheckRequest(Struct, frozen=True):
    """Scope of the checks."""

    names: Sequence[str] = ()
    """Providers or models to check; empty: everything that is set up."""

    is_offline: bool = False
    """True to send no requests."""

    timeouts: Timeouts = field(default_factory=Timeouts)


class Setup(Struct, frozen=True):
    """Keys, configuration and models to check."""

    keys: KeyStore
    config: Config | ConfigError
    """The configuration, or the error if it cannot be loaded."""

    chosen: Sequence[ModelChoice]
    """Models in use, in the settings, or chosen last."""

    options: Options
    """Options of a start in the folder, with its permission rules."""


def setup_for(options: Options, in_use: ModelChoice | None = None) -> Setup:
    """Return the setup of a folder, with its present configuration.

    Args:
        options: options of a start in the folder.
        in_use: the model in use, checked before those in the settings.
    """
    paths = options.paths
    chosen = [in_use] if in_use else []
    try:
        config = load_config(options.sources)
    except ConfigError as error:
        return Setup(KeyStore(paths, os.environ), error, chosen, options)
    disable_packages(config.settings.extensions.disabled_packages)
    keys = KeyStore(paths, config.environ)
    named, last = config.settings.model, load_json(paths.choice_file, ModelChoice)
    if named.name:
        chosen.append(ModelChoice(named.name if named.base_url else _full_name(named.name, keys), named.base_url))
    chosen += [ModelChoice(_full_name(name, keys)) for name in config.settings.providers.fallback]
    options = replace(
        options, rules=config.rules, rule_examples=config.examples, language_servers=config.language_servers
    )
    return Setup(keys, config, [*chosen, *([last] if last else [])], options)


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


async def report_block(names: Sequence[str], options: Options, in_use: ModelChoice) -> str:
    """Check everything, or the named services, and return the findings as Markdown for the conversation.

    Raises:
        ConfigError: a name is not that of a provider.
    """
    found: list[Finding] = []
    setup = await asyncio.to_thread(setup_for, options, in_use)
    await run_checks(CheckRequest(names), setup, found.append)
    text = "\n".join(line for finding in found for line in lines(finding, BLOCK_WIDTH))
    # No line can close the block: each begins with a level or is indented.
    return f"```text\n{text}\n```"


async def _named(request: CheckRequest, setup: Setup, report: OnFinding) -> list[Target]:
    _report_all(_without_service(request.names), report)
    asked = [name for name in request.names if name.partition("/")[0] not in BUILTIN]
    return await asyncio.to_thread(named_targets, asked, setup.keys, setup.chosen)


async def _set_up(request: CheckRequest, setup: Setup, report: OnFinding) -> list[Target]:
    _report_all(_machine_findings(setup), report)
    local = [] if request.is_offline else await find_local_servers()
    targets = await asyncio.to_thread(configured_targets, setup.keys, setup.chosen, local)
    _report_all(_overview(setup, targets, request), report)
    return targets


def _report_all(findings: Iterable[Finding], report: OnFinding) -> None:
    for finding in findings:
        report(finding)


def _overview(setup: Setup, targets: Sequence[Target], request: CheckRequest) -> Iterator[Finding]:
    yield from _without_service([choice.name for choice in setup.chosen])
    yield from package_findings()
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


def _machine_findings(setup: Setup) -> Iterator[Finding]:
    """Check programs, the terminal, the configuration, the folders and the stored keys, without network access."""
    yield from _programs()
    yield from _terminal()
    yield from _configuration(setup)
    yield from _permissions(setup)
    yield from _folders(setup.keys.paths)
    try:
        # Any lookup detects a damaged file.
        setup.keys.find("", ())
    except ConfigError as error:
        yield Finding("bad", "keys", str(error))


def _programs() -> Iterator[Finding]:
    yield Finding("ok", "cinch", f"{__version__} in {Path(__file__).parents[1]}")
    yield Finding("ok", "python", f"{platform.python_version()} in {sys.executable}")
    for name in ("textual", "httpx", "pydantic"):
        try:
            yield Finding("ok", name, version(name))
        except PackageNotFoundError:
            yield Finding("bad", name, "is not installed", "reinstall cinch")
    try:
        yield Finding("ok", "ripgrep", ripgrep_path())
    except RipgrepMissing as error:
        yield Finding("bad", "ripgrep", str(error))
    git = shutil.which("git")
    yield Finding(
        "ok" if git else "note", "git", git or "not found: the branch and /diff against git are not available"
    )


def _terminal() -> Iterator[Finding]:
    term = os.environ.get("TERM", "")
    size = shutil.get_terminal_size()
    if term in ("", "dumb"):
        message = f"TERM is {term or 'not set'}: the app needs a full-screen terminal; use cinch --plain"
        yield Finding("note", "terminal", message)
    else:
        colours = os.environ.get("COLORTERM", "") or "256 colors or fewer"
        yield Finding("ok", "terminal", f"{term}, {colours}, {size.columns}x{size.lines}")
    # Textual replaces sys.stdout while the app runs.
    encoding = sys.__stdout__.encoding if sys.__stdout__ else "utf-8"
    is_utf8 = encoding.lower().replace("-", "") == "utf8"
    yield Finding("ok" if is_utf8 else "note", "encoding", encoding, "" if is_utf8 else "set LANG to a UTF-8 locale")


def _configuration(setup: Setup) -> Iterator[Finding]:
    if isinstance(setup.config, ConfigError):
        yield Finding("bad", "configuration", str(setup.config), "fix it with: cinch config edit")
        return
    file = setup.keys.paths.config_file
    yield Finding("ok", "configuration", f"{file}{'' if file.exists() else ' (does not exist: defaults apply)'}")
    for notice in setup.config.notices:
        yield Finding("note", "configuration", notice)


def _permissions(setup: Setup) -> Iterator[Finding]:
    # Imported here because only a check of everything needs the tools.
    from cinch_tui.doctor.language_servers import language_server_finding
    from cinch_tui.doctor.permissions import permission_findings, trust_finding

    yield trust_finding(setup.options)
    if not isinstance(setup.config, ConfigError):
        yield from permission_findings(setup.options, setup.config)
        yield language_server_finding(setup.options, setup.config.settings)


def _folders(paths: Paths) -> Iterator[Finding]:
    for name, folder in (("data", paths.data), ("state", paths.state), ("cache", paths.cache)):
        nearest = next(each for each in (folder, *folder.parents) if is_there(each))
        if nearest.is_dir() and os.access(nearest, os.W_OK | os.X_OK):
            yield Finding("ok", name, str(folder))
        else:
            remedy = f"change the permissions of {nearest}, or set CINCH_HOME to another folder"
            yield Finding("bad", name, f"{folder} is not writable", remedy)
