"""`cinch mcp add`, `add-json`, `remove`, `enable` and `disable`."""

from __future__ import annotations

import argparse
import re
import shutil
from collections.abc import Sequence
from pathlib import Path

from msgspec.structs import replace

from cinch_tui.print_mode.output import Output
from cinch_tui.subcommands.mcp import McpParser, warn
from cinch_tui.subcommands.mcp_files import SCOPES, Scope, ServerFiles, server_files
from harness.errors import ConfigError
from tools.mcp.import_files import parse_json_server, target_of
from tools.mcp.server_config import McpAuth, McpServer, Transport

NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")
_VARIABLE = re.compile(r"\$\{\w+")
_SECRET = re.compile(r"authorization|key|token|secret|password", re.IGNORECASE)
_ADDRESS = ("http://", "https://")


class _Added(argparse.Namespace):
    name: str
    target: str | None
    scope: Scope
    env: list[str]
    header: list[str]
    transport: Transport | None
    timeout: float | None
    client_id: str
    force: bool


class _Named(argparse.Namespace):
    name: str
    scope: Scope | None


def run(action: str, argv: list[str], cwd: Path, out: Output) -> int:
    """Run one action and return the exit status.

    Raises:
        ConfigError: the arguments or the configuration are invalid, or a file cannot be changed.
    """
    if action == "add":
        _add(argv, server_files(cwd, out))
    elif action == "add-json":
        _add_json(argv, server_files(cwd, out))
    elif action == "remove":
        _remove(_named(action, argv), server_files(cwd, out))
    else:
        _enable(_named(action, argv), server_files(cwd, out), enabled=action == "enable")
    return 0


def _add(argv: Sequence[str], files: ServerFiles) -> None:
    options, command = _split_at_command(argv)
    parser = _adding("add")
    parser.add_argument("-e", "--env", action="append", default=[], metavar="K=V")
    parser.add_argument("-H", "--header", action="append", default=[], metavar='"K: V"')
    parser.add_argument("-t", "--transport", choices=("stdio", "http", "sse"))
    parser.add_argument("--timeout", type=float, metavar="SECONDS")
    parser.add_argument("--client-id", default="")
    parser.add_argument("target", nargs="?", metavar="COMMAND or URL")
    # "--" is needed where an argument of the program begins with a dash.
    arguments = parser.parse_intermixed_args(options, namespace=_Added())
    _check_new(arguments.name, arguments.scope, files, force=arguments.force)
    server = _server(arguments, [arguments.target] if arguments.target else command)
    _write(server, arguments.scope, files)


def _split_at_command(argv: Sequence[str]) -> tuple[list[str], list[str]]:
    """Return the options with the name, and the command; the URL of a remote server counts as an option."""
    with_value = {"-e", "--env", "-H", "--header", "-t", "--transport", "-s", "--scope", "--timeout", "--client-id"}
    at, names = 0, 0
    while at < len(argv):
        if argv[at] == "--":
            return list(argv[:at]), list(argv[at + 1 :])
        if argv[at].startswith("-"):
            at += 2 if argv[at] in with_value else 1
            continue
        names += 1
        if names == 2 and not argv[at].startswith(_ADDRESS):
            # Claude Code puts "--" between the command and its arguments.
            return list(argv[:at]), [argv[at], *(argv[at + 2 :] if argv[at + 1 : at + 2] == ["--"] else argv[at + 1 :])]
        at += 1
    return list(argv), []


def _server(arguments: _Added, command: Sequence[str]) -> McpServer:
    if not command:
        raise ConfigError(
            "cinch mcp add: a command or a URL is missing, as in: cinch mcp add docs https://example.com/mcp"
        )
    is_remote = command[0].startswith(_ADDRESS)
    transport = arguments.transport or ("http" if is_remote else "stdio")
    if is_remote == (transport == "stdio"):
        raise ConfigError(f"cinch mcp add: transport {transport} needs a {'command' if is_remote else 'URL'}")
    if arguments.header and not is_remote:
        raise ConfigError("cinch mcp add: --header is for remote servers; a program gets --env")
    if arguments.env and is_remote:
        raise ConfigError("cinch mcp add: --env is for programs; a remote server gets --header")
    server = McpServer(
        arguments.name,
        command="" if is_remote else command[0],
        args=() if is_remote else tuple(command[1:]),
        env=dict(map(_variable, arguments.env)),
        url=command[0] if is_remote else "",
        transport=transport,
        headers=dict(map(_header, arguments.header)),
        auth=McpAuth(client_id=arguments.client_id),
    )
    return server if arguments.timeout is None else replace(server, timeout=arguments.timeout)


def _variable(text: str) -> tuple[str, str]:
    name, has_value, value = text.partition("=")
    if not re.fullmatch(r"[A-Za-z_]\w*", name):
        raise ConfigError(f"cinch mcp add: --env needs NAME=VALUE, not {text!r}")
    return name, value if has_value else f"${{{name}}}"


def _header(text: str) -> tuple[str, str]:
    name, _, value = text.partition(":")
    if not re.fullmatch(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+", name) or not value.strip():
        raise ConfigError(f'cinch mcp add: --header needs "NAME: VALUE", not {text!r}')
    return name, value.strip()


def _add_json(argv: list[str], files: ServerFiles) -> None:
    parser = _adding("add-json")
    parser.add_argument("json", metavar="JSON")
    arguments = parser.parse_args(argv)
    _check_new(arguments.name, arguments.scope, files, force=arguments.force)
    try:
        server, notes = parse_json_server(arguments.name, arguments.json)
    except ValueError as error:
        raise ConfigError(f"cinch mcp add-json: {error}") from error
    for note in notes:
        warn(note)
    _write(server, arguments.scope, files)


def _adding(action: str) -> McpParser:
    parser = McpParser(action)
    parser.add_argument("name", metavar="NAME")
    parser.add_argument("-s", "--scope", choices=SCOPES, default="user")
    parser.add_argument("--force", action="store_true")
    return parser


def _check_new(name: str, scope: Scope, files: ServerFiles, *, force: bool) -> None:
    if not NAME.fullmatch(name):
        raise ConfigError(f"the name of a server has 1 to 64 letters, digits, hyphens and underscores, unlike {name!r}")
    if scope in files.tables(name) and not force:
        raise ConfigError(f"{files.path(scope)} has a server named {name}; --force replaces it")


def _write(server: McpServer, scope: Scope, files: ServerFiles) -> None:
    files.add(server, scope)
    files.out.write_text(f"added {server.name} to {files.path(scope)}: {target_of(server)}")
    for name, value in (*server.env.items(), *server.headers.items()):
        if _SECRET.search(name) and not _VARIABLE.search(value):
            warn(f"the value of {name} is in the file as text; '${{VAR}}' would take it from the environment")
    if server.command and not _VARIABLE.search(server.command) and shutil.which(server.command) is None:
        hint = "; a URL begins with https://" if "/" in server.command else ""
        warn(f"there is no program {server.command} on PATH{hint}")
    stronger = next((each for each in files.configured.servers if each.name == server.name), None)
    if stronger is not None and scope == "user" and stronger.source != str(files.path(scope)):
        warn(f"in this folder, {stronger.source} defines {server.name} and wins")
    files.out.write_text(f"to check it: cinch mcp test {server.name}")


def _named(action: str, argv: list[str]) -> _Named:
    parser = McpParser(action)
    parser.add_argument("name", metavar="NAME")
    parser.add_argument("-s", "--scope", choices=SCOPES)
    return parser.parse_args(argv, namespace=_Named())


def _remove(arguments: _Named, files: ServerFiles) -> None:
    name = arguments.name
    tables = files.tables(name)
    if not tables:
        elsewhere = next((each for each in files.all_servers if each.name == name), None)
        raise ConfigError(
            f"{name} is defined in {elsewhere.source}: edit that file, or turn the server off: cinch mcp disable {name}"
            if elsewhere
            else files.unknown(name)
        )
    if arguments.scope is None and len(tables) > 1:
        raise ConfigError(f"{name} is in several files; choose one: --scope {' or '.join(tables)}")
    scope = arguments.scope or next(iter(tables))
    if scope not in tables:
        raise ConfigError(f"{files.path(scope)} has no server named {name}; it is in scope {' and '.join(tables)}")
    files.remove(name, scope)
    files.out.write_text(f"removed {name} from {files.path(scope)}")


def _enable(arguments: _Named, files: ServerFiles, *, enabled: bool) -> None:
    name = arguments.name
    if name not in files.names:
        raise ConfigError(files.unknown(name))
    # A decision about a server that others use, too, belongs in the user's own file.
    scope: Scope = arguments.scope or ("user" if list(files.tables(name)) == ["user"] else "local")
    files.set(name, "enabled", enabled, scope)
    files.out.write_text(f"{'enabled' if enabled else 'disabled'} {name} in {files.path(scope)}, from the next start")
