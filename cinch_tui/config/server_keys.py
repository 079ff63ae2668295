"""Keys of the tables `[mcp.servers.NAME]`."""

from __future__ import annotations

from contextlib import suppress
from functools import partial
from typing import Annotated

from msgspec import Struct
from msgspec.structs import replace

from cinch_tui.config.named_tables import NamedTable, TableKind
from cinch_tui.config.names import SettingKey
from cinch_tui.config.setting import Setting, Value
from tools.mcp.server_config import AuthKind, McpServer, Transport

SERVERS = "mcp.servers."
"""Prefix of the dotted names."""
MAPPINGS = ("env", "headers")
"""Tables of a server with free keys."""

_held = partial(Setting, guard="held")


class _ServerSettings(Struct, frozen=True):
    command: Annotated[str, _held("program to start, for a server on this machine")] = ""
    args: Annotated[tuple[str, ...], _held("arguments of the program")] = ()
    cwd: Annotated[
        str,
        _held(
            "folder of the program; empty: that of the project that names the server, else the one that cinch works in"
        ),
    ] = ""
    url: Annotated[str, _held("address of a remote server, instead of a command")] = ""
    transport: Annotated[
        Transport, _held("transport of a remote server: http (streamable HTTP, else SSE) or sse; stdio for a command")
    ] = "http"
    enabled: Annotated[bool, _held("false: keep the server configured without starting it")] = True
    tools: Annotated[tuple[str, ...], _held("tools to offer, as names or globs; empty: all")] = ()
    excluded_tools: Annotated[tuple[str, ...], _held("tools not to offer, as names or globs")] = ()
    timeout_s: Annotated[float, _held("seconds without progress after which a call fails; 0: unlimited", 0)] = 60.0
    connect_timeout_s: Annotated[float, _held("seconds for the start of the server and the handshake", 0)] = 30.0
    auth_kind: Annotated[
        AuthKind,
        _held(
            "oauth: log in when the server requires it (cinch mcp login); bearer: send a token; service_account: "
            "exchange a token (RFC 8693); none. Default: what the other keys imply",
            key="auth.kind",
        ),
    ] = "oauth"
    auth_token: Annotated[
        str, _held("token to send, or for a service account the token to exchange", key="auth.token")
    ] = ""
    auth_client_id: Annotated[
        str, _held("OAuth client registered by hand; empty: dynamic registration", key="auth.client_id")
    ] = ""
    auth_client_secret: Annotated[str, _held("secret of the client", key="auth.client_secret")] = ""
    auth_scopes: Annotated[
        tuple[str, ...], _held("scopes to request; empty: those that the server names", key="auth.scopes")
    ] = ()
    auth_token_url: Annotated[str, _held("token endpoint for a service account", key="auth.token_url")] = ""
    auth_audience: Annotated[str, _held("audience of the exchanged token", key="auth.audience")] = ""
    auth_redirect_port: Annotated[
        int, _held("port of the redirect after a login; 0: any free one", 0, key="auth.redirect_port", maximum=65535)
    ] = 0


SERVER_TABLE = TableKind(SERVERS, _ServerSettings, MAPPINGS)


def server_keys() -> dict[str, SettingKey]:
    """Return the keys by their name in the table of a server."""
    return SERVER_TABLE.keys


class ServerTable(NamedTable, frozen=True):
    """A table `[mcp.servers.NAME]` of one file."""

    @property
    def is_definition(self) -> bool:
        """True if the table defines a server; otherwise it changes one of the same name in another file."""
        return "command" in self.values or "url" in self.values

    @property
    def implied_auth(self) -> AuthKind:
        """Kind of authentication if the table does not name it."""
        return (
            "service_account"
            if self.values.get("auth.token_url")
            else "bearer"
            if self.values.get("auth.token")
            else "oauth"
        )

    def server(self) -> McpServer:
        """Return the server that the table defines."""
        is_remote = bool(self.values.get("url"))
        return self.applied_to(McpServer(self.name, transport="http" if is_remote else "stdio", source=self.source))

    def applied_to(self, server: McpServer) -> McpServer:
        """Return the server with the values of this table."""
        plain: dict[str, object] = {}
        auth: dict[str, object] = {}
        mappings = {table: dict[str, str](getattr(server, table)) for table in MAPPINGS}
        for name, value in self.values.items():
            table, _, inner = name.partition(".")
            if table in mappings:
                mappings[table][inner] = str(value)
            elif table == "auth":
                auth[inner] = value
            else:
                plain[name.removesuffix("_s")] = value
        if auth and "kind" not in auth:
            auth["kind"] = self.implied_auth
        return replace(server, **plain, **mappings, auth=replace(server.auth, **auth))


def table_of(server: McpServer) -> dict[str, Value]:
    """Return the values of a server that are not defaults, as `ServerTable.values`."""
    values: dict[str, Value] = {}
    for name, key in server_keys().items():
        table, _, inner = name.rpartition(".")
        owner = server.auth if table else server
        value: Value = getattr(owner, inner.removesuffix("_s"))
        if value != key.default and not (name == "transport" and value == "stdio"):
            values[name] = value
    if values.get("auth.kind") == ServerTable(server.name, values, "", 1, "", is_trusted=True).implied_auth:
        del values["auth.kind"]
    return values | {f"{table}.{key}": value for table in MAPPINGS for key, value in getattr(server, table).items()}


def written_servers(text: str) -> list[McpServer]:
    """Return the servers that a configuration file defines, as far as they are valid. The file need not be trusted."""
    import tomllib

    from cinch_tui.config.file import flatten

    tables: dict[str, ServerTable] = {}
    for name, value in flatten(tomllib.loads(text)):
        if name.startswith(SERVERS):
            server, _, inner = name.removeprefix(SERVERS).partition(".")
            table = tables.setdefault(server, ServerTable(server, {}, "", 1, "project", is_trusted=False))
            with suppress(ValueError):
                table.values[inner] = SERVER_TABLE.checked(name, value)
    return [table.server() for table in tables.values()]
