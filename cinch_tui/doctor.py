"""`cinch doctor`: what cinch finds on this machine. Reaches no further than this machine."""

from __future__ import annotations

import asyncio
import os
import platform
import shutil
import sys
from collections.abc import Iterator, Sequence
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Literal, TypeAlias

from cinch_tui import __version__
from cinch_tui.config import load_config
from cinch_tui.credentials import KeyStore
from cinch_tui.output import Output
from cinch_tui.paths import Paths, find_paths
from cinch_tui.start import sources_for
from harness.errors import ConfigError
from providers.catalog import presets
from providers.local import find_local_servers
from tools.ripgrep import RipgrepMissing, ripgrep_path

Finding: TypeAlias = tuple[Literal["ok", "note", "bad"], str, str]


def run_doctor(argv: Sequence[str], *, cwd: Path, out: Output) -> int:
    """Tell what was found, one line each; the status is 1 when something keeps cinch from working.

    Raises:
        ConfigError: it takes no arguments.
    """
    if argv:
        raise ConfigError("cinch doctor takes no arguments")
    paths = find_paths(os.environ)
    findings = [*_programs(), *_terminal(), *_configuration(paths, cwd), *_folders(paths), *_models(paths)]
    for level, what, told in findings:
        out.write_text(f"{level:<5}{what:<16}{told}")
    return 1 if any(level == "bad" for level, _, _ in findings) else 0


def _programs() -> Iterator[Finding]:
    yield "ok", "cinch", f"{__version__} in {Path(__file__).parent}"
    yield "ok", "python", f"{platform.python_version()} in {sys.executable}"
    for name in ("textual", "httpx", "pydantic"):
        try:
            yield "ok", name, version(name)
        except PackageNotFoundError:
            yield "bad", name, "is not installed; install cinch again"
    try:
        yield "ok", "ripgrep", ripgrep_path()
    except RipgrepMissing as error:
        yield "bad", "ripgrep", str(error)
    git = shutil.which("git")
    yield ("ok", "git", git) if git else ("note", "git", "not found: cinch works, but knows no branches")


def _terminal() -> Iterator[Finding]:
    term = os.environ.get("TERM", "")
    size = shutil.get_terminal_size()
    if term in ("", "dumb"):
        yield "note", "terminal", f"TERM is {term or 'not set'}: the app needs a terminal with a cursor"
    else:
        colours = os.environ.get("COLORTERM", "") or "256 colours or fewer"
        yield "ok", "terminal", f"{term}, {colours}, {size.columns}x{size.lines}"
    encoding = sys.stdout.encoding
    is_utf8 = encoding.lower().replace("-", "") == "utf8"
    yield ("ok", "encoding", encoding) if is_utf8 else ("note", "encoding", f"{encoding}: set LANG to a UTF-8 locale")


def _configuration(paths: Paths, cwd: Path) -> Iterator[Finding]:
    try:
        config = load_config(sources_for(paths, cwd))
    except ConfigError as error:
        yield "bad", "configuration", str(error)
        return
    known = str(paths.config_file) if paths.config_file.exists() else f"{paths.config_file} (none yet: all defaults)"
    yield "ok", "configuration", known
    for notice in config.notices:
        yield "note", "configuration", notice


def _folders(paths: Paths) -> Iterator[Finding]:
    for name, folder in (("data", paths.data), ("state", paths.state), ("cache", paths.cache)):
        nearest = next(each for each in (folder, *folder.parents) if each.exists())
        if nearest.is_dir() and os.access(nearest, os.W_OK | os.X_OK):
            yield "ok", name, str(folder)
        else:
            yield "bad", name, f"{folder} cannot be written"


def _models(paths: Paths) -> Iterator[Finding]:
    store = KeyStore(paths, os.environ)
    servers = asyncio.run(find_local_servers())
    usable = len(servers)
    for server in servers:
        yield "ok", server.preset, f"serves {', '.join(server.models) or 'no models'} at {server.base_url}"
    for preset in presets().values():
        if preset.is_local:
            continue
        try:
            secret = store.find(preset.name, preset.variables)
        except ConfigError as error:
            yield "bad", preset.name, str(error)
            continue
        usable += secret is not None
        yield ("ok", preset.name, f"key from {secret.source}") if secret else ("note", preset.name, "no key")
    if not usable:
        yield "note", "models", "no key and no local server: enter a key in the app, or take the tour: cinch demo"
