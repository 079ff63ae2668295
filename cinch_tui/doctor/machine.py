"""Checks of this machine, without network access."""

from __future__ import annotations

import os
import platform
import shutil
import sys
from collections.abc import Iterator
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import TYPE_CHECKING

from cinch_tui import __version__
from cinch_tui.doctor.findings import Finding
from harness.errors import ConfigError
from harness.workspace.disk import is_there
from tools.ripgrep import RipgrepMissing, ripgrep_path

if TYPE_CHECKING:
    from cinch_tui.api_keys.credentials import KeyStore
    from cinch_tui.config.layers import Config
    from cinch_tui.config.paths import Paths


def machine_findings(keys: KeyStore, config: Config | ConfigError) -> Iterator[Finding]:
    """Check programs, the terminal, the configuration, the folders and the stored keys."""
    yield from _programs()
    yield from _terminal()
    yield from _configuration(keys.paths, config)
    yield from _folders(keys.paths)
    try:
        # Any lookup detects a damaged file.
        keys.find("", ())
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
    yield (
        Finding("ok", "git", git)
        if git
        else Finding("note", "git", "not found: the branch and /diff against git are not available")
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
    yield (
        Finding("ok", "encoding", encoding)
        if is_utf8
        else Finding("note", "encoding", encoding, "set LANG to a UTF-8 locale")
    )


def _configuration(paths: Paths, config: Config | ConfigError) -> Iterator[Finding]:
    if isinstance(config, Exception):
        yield Finding("bad", "configuration", str(config), "fix it with: cinch config edit")
        return
    known = (
        str(paths.config_file)
        if paths.config_file.exists()
        else f"{paths.config_file} (does not exist: defaults apply)"
    )
    yield Finding("ok", "configuration", known)
    for notice in config.notices:
        yield Finding("note", "configuration", notice)


def _folders(paths: Paths) -> Iterator[Finding]:
    for name, folder in (("data", paths.data), ("state", paths.state), ("cache", paths.cache)):
        nearest = next(each for each in (folder, *folder.parents) if is_there(each))
        if nearest.is_dir() and os.access(nearest, os.W_OK | os.X_OK):
            yield Finding("ok", name, str(folder))
        else:
            yield Finding(
                "bad",
                name,
                f"{folder} is not writable",
                f"change the permissions of {nearest}, or set CINCH_HOME to another folder",
            )
