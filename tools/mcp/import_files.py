"""MCP servers in the JSON files of other programs.

Source: `.mcp.json` of Claude Code (`mcpServers`), `claude_desktop_config.json` of Claude Desktop (the same),
`.vscode/mcp.json` of VS Code (`servers` and `inputs`). Files of Cursor, Windsurf, Gemini CLI and opencode differ in the
names of a few keys, which are accepted as well.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence

from msgspec import Struct
from msgspec.structs import replace

from harness.function_tools.names import legal_tool_name
from harness.messages import JsonValue
from http_client.addresses import shown_url
from tools.mcp.server_config import McpAuth, McpServer, Transport

LONGEST_NAME = 128
"""Maximum length of a server's name, in characters."""
_VARIABLE = re.compile(r"\$\{([A-Za-z_]\w*)(?=\}|:-)")
INPUT = re.compile(r"\$\{input:([^}]+)\}")
_OTHERS_VARIABLE = re.compile(r"\$\{env:([A-Za-z_][A-Za-z0-9_]*)\}")
_WORKSPACE = re.compile(r"\$\{(?:workspaceFolder|workspaceRoot|CLAUDE_PROJECT_DIR)\}")
_HOME = re.compile(r"\$\{userHome\}")
_TABLES = ("mcpServers", "servers", "context_servers", "mcp")
_TRANSPORTS: Mapping[str, Transport] = {
    "stdio": "stdio",
    "local": "stdio",
    "http": "http",
    "streamable-http": "http",
    "streamablehttp": "http",
    "remote": "http",
    "sse": "sse",
}
_ADDRESSES = ("url", "httpUrl", "serverUrl")
_APPROVALS = ("alwaysAllow", "autoApprove", "trust")
_USED = {
    *("command", "args", "env", "environment", "cwd", "headers", "http_headers", "type", "transport", "timeout"),
    *("disabled", "enabled", "includeTools", "excludeTools", "disabledTools", "oauth", *_ADDRESSES, *_APPROVALS),
}
_WITHOUT_EFFECT = {"description", "name", "version", "gallery", "icon", "dev", "note", "comment", "$schema"}
_SHOWN_COMMAND = 300
_LEAST_MS = 1000
"""A timeout from here on is in milliseconds, as in Claude Code; others write seconds."""


class ImportInput(Struct, frozen=True):
    """A value that VS Code asks for, used as `${input:ID}`."""

    id: str
    """Id of the input."""
    prompt: str = ""
    """Description for the user."""
    default: str = ""
    """Default value."""
    is_secret: bool = False
    """True if the value must not be displayed."""

    @property
    def variable(self) -> str:
        """Environment variable that can take its place."""
        return re.sub(r"\W", "_", self.id, flags=re.ASCII).upper()


class ImportedServers(Struct, frozen=True):
    """Servers of a file."""

    servers: tuple[McpServer, ...] = ()
    """Servers that can be used, with `${VAR}` not expanded."""
    problems: tuple[str, ...] = ()
    """Servers and keys that are not used, with the reason."""
    inputs: tuple[ImportInput, ...] = ()
    """Inputs that the servers need."""


class _Unusable(Exception):
    """A server cannot be used; the text is the reason."""


def parse_servers(text: str, source: str) -> ImportedServers:
    """Return the servers of a JSON file; comments and trailing commas are accepted.

    Args:
        text: content of the file.
        source: path of the file, for display.
    """
    try:
        data: JsonValue = json.loads(_plain_json(text))
    except ValueError as error:
        return ImportedServers(problems=(f"{source} is not valid JSON: {error}",))
    except RecursionError:
        return ImportedServers(problems=(f"{source} is nested too deeply",))
    table = _table(data)
    if table is None:
        return ImportedServers(problems=(f"{source} has no MCP servers: it needs a table mcpServers or servers",))
    servers: list[McpServer] = []
    problems: list[str] = []
    for name, entry in table.items():
        try:
            server, notes = _server(name, entry, source)
        except _Unusable as error:
            problems.append(f"{source}: MCP server {_shown(name)} is not used: {error}")
            continue
        servers.append(server)
        problems += (f"{source}: MCP server {name}: {note}" for note in notes)
    return ImportedServers(tuple(servers), tuple(problems), tuple(_inputs(data, servers)))


def _server(name: str, entry: JsonValue, source: str) -> tuple[McpServer, list[str]]:
    if not name or len(name) > LONGEST_NAME or not name.isprintable():
        raise _Unusable(f"its name must have 1 to {LONGEST_NAME} printable characters")
    if not isinstance(entry, dict):
        raise _Unusable("its entry is not an object")
    transport, notes = _transport(entry)
    command, *more = _texts(entry, "command") if isinstance(entry.get("command"), list) else [_text(entry, "command")]
    address = next((key for key in _ADDRESSES if entry.get(key)), "")
    server = McpServer(
        name=name,
        command="" if address else command,
        args=(*more, *_texts(entry, "args")),
        env=_mapping(entry, "env") or _mapping(entry, "environment"),
        cwd=_text(entry, "cwd"),
        url=_text(entry, address) if address else "",
        transport=transport,
        headers=_mapping(entry, "headers") or _mapping(entry, "http_headers"),
        auth=_auth(entry),
        enabled=entry.get("disabled") is not True and entry.get("enabled") is not False,
        tools=_texts(entry, "includeTools"),
        excluded_tools=(*_texts(entry, "excludeTools"), *_texts(entry, "disabledTools")),
        timeout=_seconds(entry),
        source=source,
    )
    return _with_our_variables(server), [*notes, *_unused(name, entry)]


def parse_json_server(name: str, text: str) -> tuple[McpServer, list[str]]:
    """Return the server that one JSON object describes, and notes on keys that are not used.

    Raises:
        ValueError: the text is not JSON, or the object describes no server.
    """
    try:
        return _server(name, json.loads(_plain_json(text)), "")
    except _Unusable as error:
        raise ValueError(str(error)) from error
    except RecursionError as error:
        raise ValueError("it is nested too deeply") from error


def describe_servers(servers: Sequence[McpServer]) -> str:
    """Return what the servers do, for the question about trust: each name with its command or address."""
    return "; ".join(map(_effect, servers)) or "no servers"


def _effect(server: McpServer) -> str:
    effect = (
        f"connects {server.name} to {server.url}" if server.url else f"starts {server.name}: {command_line(server)}"
    )
    # A variable may hold a secret, which the server receives.
    names = dict.fromkeys(found[1] for text in _texts_of(server) for found in _VARIABLE.finditer(text))
    given = ", ".join(f"${name}" for name in names)
    settings = ", ".join(server.env)
    return effect + (f" with {settings}" if settings else "") + (f" (reads {given})" if given else "")


def command_line(server: McpServer) -> str:
    """Return the command of a server for display, truncated."""
    line = " ".join((server.command, *server.args))
    return (
        line if len(line) <= _SHOWN_COMMAND else f"{line[:_SHOWN_COMMAND]}… (+{len(line) - _SHOWN_COMMAND} characters)"
    )


def target_of(server: McpServer) -> str:
    """Return the command or address of a server as written, for display: without user name, password and query."""
    if server.target:
        return server.target
    try:
        return shown_url(server.url) if server.url else command_line(server)
    except ValueError:
        return "an invalid address"


def legal_server_name(name: str) -> str:
    """Return a name for a table: other characters than letters, digits, hyphens and underscores become `-`."""
    return re.sub(r"[^A-Za-z0-9_-]+", "-", name).strip("-")[:64] or "server"


def with_inputs(server: McpServer, values: Mapping[str, str]) -> McpServer:
    """Return the server with `${input:ID}` replaced by the values of the inputs."""
    return map_texts(server, lambda text: INPUT.sub(lambda found: values.get(found[1], found[0]), text))


def inputs_of(server: McpServer) -> list[str]:
    """Return the ids of the inputs that a server needs, in order."""
    return list(dict.fromkeys(found[1] for text in _texts_of(server) for found in INPUT.finditer(text)))


def map_texts(server: McpServer, change: Callable[[str], str]) -> McpServer:
    """Return the server with `change` applied to every text that may contain a variable."""
    auth = server.auth
    return replace(
        server,
        command=change(server.command),
        args=tuple(map(change, server.args)),
        env={name: change(value) for name, value in server.env.items()},
        cwd=change(server.cwd),
        url=change(server.url),
        headers={name: change(value) for name, value in server.headers.items()},
        auth=replace(
            auth,
            token=change(auth.token),
            client_id=change(auth.client_id),
            client_secret=change(auth.client_secret),
            token_url=change(auth.token_url),
            audience=change(auth.audience),
        ),
    )


def _texts_of(server: McpServer) -> list[str]:
    texts: list[str] = []

    def collect(text: str) -> str:
        texts.append(text)
        return text

    map_texts(server, collect)
    return texts


def _with_our_variables(server: McpServer) -> McpServer:
    """Write variables of other programs as cinch writes them. The folder of a command is the workspace."""

    def rewritten(text: str) -> str:
        return _HOME.sub("${HOME}", _WORKSPACE.sub(".", _OTHERS_VARIABLE.sub(r"${\1}", text)))

    return map_texts(server, rewritten)


def _table(data: JsonValue) -> dict[str, JsonValue] | None:
    """Return the table of servers; None if the file has none."""
    if not isinstance(data, dict):
        return None
    for key in _TABLES:
        found = data.get(key)
        if isinstance(found, dict):
            # The settings of VS Code have `mcp.servers`.
            inner = found.get("servers") if key == "mcp" else None
            return inner if isinstance(inner, dict) and not {"command", "url"} & inner.keys() else found
    return None


def _transport(entry: Mapping[str, JsonValue]) -> tuple[Transport, list[str]]:
    named = entry.get("type", entry.get("transport"))
    has_address = any(entry.get(key) for key in _ADDRESSES)
    has_command = bool(entry.get("command"))
    if not has_address and not has_command:
        raise _Unusable("it has neither a command nor a url")
    if named is None:
        return ("http" if has_address else "stdio"), []
    known = _TRANSPORTS.get(str(named).lower().replace("_", "-"))
    if known is None:
        raise _Unusable(f"its transport {named!r} is not supported; use stdio, http or sse")
    if known == "stdio" and has_address and not has_command:
        return "http", [f"type {named!r} does not fit a url; using http"]
    return ("stdio", []) if not has_address else (known, [])


def _auth(entry: Mapping[str, JsonValue]) -> McpAuth:
    """Return the authentication; Claude Code names a client that was registered by hand."""
    given = entry.get("oauth")
    if not isinstance(given, dict):
        return McpAuth()
    port = given.get("callbackPort")
    scopes = given.get("scopes")
    return McpAuth(
        client_id=_text(given, "clientId"),
        client_secret=_text(given, "clientSecret"),
        scopes=tuple(scopes.split()) if isinstance(scopes, str) else _texts(given, "scopes"),
        redirect_port=port if isinstance(port, int) else 0,
    )


def _unused(name: str, entry: Mapping[str, JsonValue]) -> Iterator[str]:
    for key in _APPROVALS:
        allowed = entry.get(key)
        if allowed:
            tools = [each for each in allowed if isinstance(each, str)] if isinstance(allowed, list) else []
            rules = ", ".join(json.dumps(legal_tool_name("mcp", name, tool)) for tool in tools) or json.dumps(
                f"mcp__{name}"
            )
            yield f"{key} is not taken over; to allow these calls without asking: permissions.allow = [{rules}]"
    unknown = sorted(entry.keys() - _USED - _WITHOUT_EFFECT)
    if unknown:
        yield f"not used: {', '.join(map(_shown, unknown))}"


def _inputs(data: JsonValue, servers: list[McpServer]) -> Iterator[ImportInput]:
    needed = dict.fromkeys(each for server in servers for each in inputs_of(server))
    listed = data.get("inputs") if isinstance(data, dict) else None
    described = {each.get("id"): each for each in listed if isinstance(each, dict)} if isinstance(listed, list) else {}
    for each in needed:
        entry = described.get(each, {})
        yield ImportInput(each, _text(entry, "description"), _text(entry, "default"), entry.get("password") is True)


def _text(entry: Mapping[str, JsonValue], key: str) -> str:
    value = entry.get(key)
    if value is None:
        return ""
    if not isinstance(value, str):
        raise _Unusable(f"{key} must be a text")
    return value


def _texts(entry: Mapping[str, JsonValue], key: str) -> tuple[str, ...]:
    value = entry.get(key)
    if value is None:
        return ()
    if not isinstance(value, list) or not all(isinstance(each, str | int | float) for each in value):
        raise _Unusable(f"{key} must be a list of texts")
    return tuple(map(_scalar, value))


def _mapping(entry: Mapping[str, JsonValue], key: str) -> dict[str, str]:
    value = entry.get(key)
    if value is None:
        return {}
    if not isinstance(value, dict) or any(isinstance(each, list | dict) for each in value.values()):
        raise _Unusable(f"{key} must be an object with texts")
    return {name: _scalar(each) for name, each in value.items() if each is not None}


def _scalar(value: JsonValue) -> str:
    return value if isinstance(value, str) else json.dumps(value)


def _seconds(entry: Mapping[str, JsonValue]) -> float:
    value = entry.get("timeout")
    if isinstance(value, bool) or not isinstance(value, int | float) or value <= 0:
        return McpServer("").timeout
    return value / 1000 if value >= _LEAST_MS else float(value)


def _shown(name: str) -> str:
    return name if name.isprintable() and len(name) <= LONGEST_NAME else ascii(name[:LONGEST_NAME])


# Strings and comments without an end match up to the end of the text, so that the time stays linear.
_JSON_TOKEN = re.compile(
    r'"(?:[^"\\]|\\.)*+"?|//[^\n]*|/\*(?:.*?\*/|.*)|,(?=(?:\s|//[^\n]*|/\*.*?\*/)*+[}\]])', re.DOTALL
)


def _plain_json(text: str) -> str:
    """Return JSON without comments and trailing commas; lines are kept."""
    return _JSON_TOKEN.sub(_plain_token, text.removeprefix("\ufeff"))


def _plain_token(found: re.Match[str]) -> str:
    token = found[0]
    return token if token.startswith('"') else "\n" * token.count("\n")
