"""`cinch config`: show settings and paths, edit the user's file, trust a folder."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Sequence
from pathlib import Path

from cinch_tui.cli.start import config_sources
from cinch_tui.config.file import read_config_file
from cinch_tui.config.layers import load_config
from cinch_tui.config.paths import MANAGED_FILE, find_paths, local_config_file, project_config_file
from cinch_tui.config.store import effective_text, example_text
from cinch_tui.print_mode.output import Output
from cinch_tui.trust.inventory import inventory, one_line_name
from cinch_tui.trust.store import TrustStore
from harness.errors import ConfigError

USAGE = "usage: cinch config show|path|edit|trust"


def run(argv: Sequence[str], cwd: Path, out: Output) -> int:
    """Run one action and return the exit status.

    Raises:
        ConfigError: the action is unknown, or a file is invalid.
    """
    action = _ACTIONS.get(argv[0]) if len(argv) == 1 else None
    if action is None:
        raise ConfigError(USAGE)
    action(cwd, out)
    return 0


def _show(cwd: Path, out: Output) -> None:
    config = load_config(config_sources(find_paths(os.environ), cwd))
    for notice in config.notices:
        out.write_text(f"# {notice}")
    out.write_text(effective_text(config.origins))
    if config.servers:
        out.write_text("\n# MCP servers: cinch mcp list")


def _path(cwd: Path, out: Output) -> None:
    paths = find_paths(os.environ)
    places = {
        "managed": MANAGED_FILE if MANAGED_FILE.exists() else "none",
        "user": paths.config_file,
        "project": project_config_file(cwd) or "none",
        "local": local_config_file(cwd) or "none",
        "data": paths.data,
        "state": paths.state,
        "cache": paths.cache,
        "keys": paths.credentials_file,
        "log": paths.log_file,
    }
    for name, place in places.items():
        out.write_text(f"{name:<9}{place}")


def _edit(cwd: Path, out: Output) -> None:
    del cwd
    paths = find_paths(os.environ)
    path = paths.config_file
    try:
        if not path.exists():
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(example_text(commented=True), encoding="utf-8")
    except OSError as error:
        raise ConfigError(f"{path}: cannot be created: {error.strerror}") from error
    # Imported here because it loads Textual.
    from cinch_tui.terminal.external_programs import editor_command

    try:
        # The ui.editor setting is not used: the settings may be broken.
        argv = editor_command("", os.environ)
        status = subprocess.run([*argv, str(path)], check=False).returncode if argv else 127
    except (OSError, ValueError) as error:
        raise ConfigError(f"the editor could not be started ({error}); set $EDITOR, or edit {path} directly") from error
    if status:
        raise ConfigError(f"the editor exited with status {status}; check {path}")
    # Validate now, while the user remembers the changes.
    for warning in load_config(config_sources(paths, path.parent)).warnings:
        out.write_text(f"warning: {warning}")
    out.write_text(f"{path} is valid")


def _trust(cwd: Path, out: Output) -> None:
    paths = find_paths(os.environ)
    files = inventory(cwd, paths.config_file)
    for problem in files.problems:
        out.write_text(problem)
    try:
        TrustStore(paths.trust_file).trust(files)
    except ValueError as error:
        raise ConfigError(str(error)) from error
    except OSError as error:
        raise ConfigError(f"{paths.trust_file}: cannot be written: {error.strerror}") from error
    contents = "It has:" if files.found else "It has no files that change how cinch works."
    out.write_text(f"{files.root} is trusted, until a file that can run code or loosen permissions changes. {contents}")
    for each in files.found:
        out.write_text(f"  {files.label(each.path)}: {each.kind} · {one_line_name(each.summary)}")
        if each.kind == "configuration":
            for name, entry in read_config_file(each.path).entries.items():
                out.write_text(f"    {name} = {entry.value!r}")


_ACTIONS = {"show": _show, "path": _path, "edit": _edit, "trust": _trust}
