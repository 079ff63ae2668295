"""`cinch mcp import`: add the servers of another program to a configuration file."""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from getpass import getpass
from pathlib import Path

from msgspec.structs import replace

from cinch_tui.fuzzy_match import did_you_mean
from cinch_tui.print_mode.output import Output
from cinch_tui.subcommands.mcp import McpParser, warn
from cinch_tui.subcommands.mcp_edits import NAME
from cinch_tui.subcommands.mcp_files import SCOPES, Scope, ServerFiles, server_files
from cinch_tui.trust.inventory import LARGEST, one_line_name
from harness.errors import ConfigError, NotAFile
from harness.messages import JsonObject, JsonValue
from harness.terminal_text import strip_escapes
from harness.workspace.disk import read_beginning
from tools.mcp.import_files import (
    ImportedServers,
    ImportInput,
    legal_server_name,
    parse_servers,
    target_of,
    with_inputs,
)
from tools.mcp.server_config import McpServer

PROGRAMS = ("claude-desktop", "claude-code", "vscode")


class _Arguments(argparse.Namespace):
    source: str
    scope: Scope
    yes: bool


def run(action: str, argv: list[str], cwd: Path, out: Output) -> int:
    """Import servers and return the exit status: 1 if the user declined.

    Raises:
        ConfigError: the arguments or the configuration are invalid, or no file has servers.
    """
    parser = McpParser(action)
    parser.add_argument("source", nargs="?", default=".mcp.json")
    parser.add_argument("-s", "--scope", choices=SCOPES, default="user")
    parser.add_argument("--yes", "-y", action="store_true")
    arguments = parser.parse_args(argv, namespace=_Arguments())
    files = server_files(cwd, out)
    paths = _paths(arguments.source, cwd)
    found = [_read(path, cwd) for path in paths]
    for problem in (problem for each in found for problem in each.problems):
        warn(problem)
    servers, skipped = _new_servers(found, arguments.scope, files)
    for name in skipped:
        out.write_text(f"{name} is in {files.path(arguments.scope)} already; it stays as it is")
    if not servers:
        out.write_text("nothing to import")
        return 0
    return _add(servers, [each for one in found for each in one.inputs], arguments, files)


def _add(servers: Sequence[McpServer], inputs: Sequence[ImportInput], arguments: _Arguments, files: ServerFiles) -> int:
    out, target = files.out, files.path(arguments.scope)
    out.write_text(f"to be added to {target}:")
    for server in servers:
        state = "" if server.enabled else "  (disabled)"
        out.write_text(f"  {server.name}  {one_line_name(target_of(server))}{state}")
    is_asked = not arguments.yes
    if is_asked and not sys.stdin.isatty():
        raise ConfigError("cinch mcp import asks before it adds servers; --yes adds them without")
    if is_asked and input("Add them? [y/N] ").strip().lower() not in ("y", "yes"):
        out.write_text("nothing was added")
        return 1
    values = {each.id: _value(each, is_asked=is_asked) for each in inputs}
    for server in servers:
        files.add(with_inputs(server, values), arguments.scope)
    out.write_text(
        f"added {len(servers)} server{'' if len(servers) == 1 else 's'}; to check them: cinch mcp list --check"
    )
    return 0


def _value(wanted: ImportInput, *, is_asked: bool) -> str:
    """Ask for an input of VS Code; without an answer, an environment variable takes its place."""
    variable = wanted.variable
    if is_asked:
        otherwise = f", else {wanted.default}" if wanted.default else ""
        question = strip_escapes(f"{wanted.prompt or wanted.id} (empty: the variable {variable}{otherwise}): ")
        answer = getpass(question) if wanted.is_secret else input(question)
        if answer:
            return answer
    if wanted.default:
        return f"${{{variable}:-{wanted.default}}}"
    warn(f"set the environment variable {variable}: {strip_escapes(wanted.prompt) or wanted.id}")
    return f"${{{variable}}}"


def _new_servers(
    found: Sequence[ImportedServers], scope: Scope, files: ServerFiles
) -> tuple[list[McpServer], list[str]]:
    """Return the servers that the file of the scope does not have, with legal names, and the names of the others."""
    servers: dict[str, McpServer] = {}
    skipped: list[str] = []
    for server in (server for each in found for server in each.servers):
        name = server.name if NAME.fullmatch(server.name) else legal_server_name(server.name)
        if scope in files.tables(name):
            skipped.append(name)
        else:
            servers.setdefault(name, replace(server, name=name))
    return list(servers.values()), skipped


def _paths(source: str, cwd: Path) -> list[Path]:
    """Return the existing files of a program, or the named file.

    Raises:
        ConfigError: No such file exists.
    """
    if source not in PROGRAMS:
        path = cwd / Path(source).expanduser()
        if not path.exists():
            nearest = did_you_mean(source, PROGRAMS, otherwise=f"; programs: {', '.join(PROGRAMS)}")
            raise ConfigError(f"there is no file {path}{nearest}")
        return [path]
    places = list(program_files(source, cwd, os.environ, sys.platform))
    existing = [path for path in places if path.exists()]
    if not existing:
        raise ConfigError(f"there are no servers of {source}: no {' and no '.join(map(str, places))}")
    return existing


def program_files(program: str, cwd: Path, environ: Mapping[str, str], platform: str) -> Iterator[Path]:
    """Yield the places of a program's files, the strongest first.

    Args:
        program: one of `PROGRAMS`.
        cwd: the folder that cinch works in.
        environ: environment variables.
        platform: `sys.platform`.
    """
    home = Path(environ.get("HOME") or "~").expanduser()
    if platform == "darwin":
        base = home / "Library" / "Application Support"
    elif platform == "win32":
        base = Path(environ.get("APPDATA") or home / "AppData" / "Roaming")
    else:
        base = Path(environ.get("XDG_CONFIG_HOME") or home / ".config")
    if program == "claude-desktop":
        yield base / "Claude" / "claude_desktop_config.json"
    elif program == "claude-code":
        yield home / ".claude.json"
    else:
        yield cwd / ".vscode" / "mcp.json"
        yield base / "Code" / "User" / "mcp.json"


def _read(path: Path, cwd: Path) -> ImportedServers:
    # The file of Claude Code also has the history of all projects.
    largest = LARGEST * 200 if path.name == ".claude.json" else LARGEST
    try:
        data, size = read_beginning(path, largest + 1)
    except (OSError, NotAFile) as error:
        raise ConfigError(f"{path}: cannot be read: {getattr(error, 'strerror', None) or error}") from error
    if size > largest:
        raise ConfigError(f"{path}: is too large: {size:,} bytes; the limit is {largest:,}")
    text = data.decode("utf-8", "replace")
    if path.name == ".claude.json":
        text = _of_claude_code(text, cwd)
    return parse_servers(text, str(path))


def _of_claude_code(text: str, cwd: Path) -> str:
    """Return the servers of the user and of this folder."""
    try:
        data: JsonValue = json.loads(text)
    except (ValueError, RecursionError):
        return text
    own = _inner(data, "mcpServers")
    return json.dumps({"mcpServers": {**own, **_inner(data, "projects", str(cwd), "mcpServers")}})


def _inner(data: JsonValue, *names: str) -> JsonObject:
    for name in names:
        data = data.get(name) if isinstance(data, dict) else None
    return data if isinstance(data, dict) else {}
