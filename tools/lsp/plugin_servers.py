"""Language servers of plugins: `.lsp.json`.

Source: the reference of plugins of Claude Code, https://code.claude.com/docs/en/plugins-reference.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from glob import escape
from pathlib import PurePath
from typing import Annotated

from msgspec import Meta, Struct, ValidationError, convert, field

from harness.messages import JsonObject
from tools.lsp.options import LanguageServer, known_servers

KEY = "lspServers"
"""Key that the servers may be under."""


class ImportedServers(Struct, frozen=True):
    """Language servers of a file."""

    servers: tuple[LanguageServer, ...] = ()
    """The servers, with variables such as `${CLAUDE_PLUGIN_ROOT}` as they are written."""
    problems: tuple[str, ...] = ()
    """Entries that are not used."""


class _Entry(Struct):
    command: str | list[str]
    languages: Annotated[dict[str, str], Meta(min_length=1)] = field(name="extensionToLanguage")
    args: list[str] = []
    transport: str = "stdio"
    env: dict[str, str] = {}
    options: JsonObject = field(name="initializationOptions", default={})
    settings: JsonObject = {}
    startup_ms: Annotated[float, Meta(ge=0)] = field(name="startupTimeout", default=0)

    def server(self, name: str) -> LanguageServer:
        """Return the server.

        Raises:
            ValueError: It cannot be used.
        """
        if self.transport != "stdio":
            raise ValueError(f"has the transport {self.transport}; only stdio is supported")
        command = (*([self.command] if isinstance(self.command, str) else self.command), *self.args)
        if not command or not command[0]:
            raise ValueError("has no command")
        # What is known about a program also holds when a plugin starts it.
        known = next((each for each in known_servers() if each.command[0] == PurePath(command[0]).name), None)
        ids = tuple(dict.fromkeys(self.languages.values()))
        return LanguageServer(
            {f"*.{escape(ending.removeprefix('.'))}": language for ending, language in self.languages.items()},
            command,
            name,
            languages=known.languages if known else ids,
            root_markers=known.root_markers if known else (),
            runs_code=known.runs_code if known else True,
            options=self.options,
            settings=self.settings,
            env=self.env,
            start_s=self.startup_ms / 1000,
        )


def parse_servers(text: str, source: str) -> ImportedServers:
    """Return the servers in a file; entries that cannot be used become problems.

    Args:
        text: Content of the file.
        source: Name of the file.
    """
    try:
        data: object = json.loads(text)
    except (ValueError, RecursionError) as error:
        return ImportedServers(problems=(f"{source} is not valid JSON: {error}",))
    if isinstance(data, Mapping) and isinstance(data.get(KEY), Mapping):  # pyright: ignore[reportUnknownMemberType]  JSON
        data = data[KEY]  # pyright: ignore[reportUnknownVariableType]  JSON
    try:
        entries = convert(data, dict[str, object])
    except ValidationError as error:
        return ImportedServers(problems=(f"{source}: {error}",))
    servers: list[LanguageServer] = []
    problems: list[str] = []
    for name, entry in entries.items():
        try:
            servers.append(convert(entry, _Entry).server(name))
        except ValueError as error:
            problems.append(f"{source}: the language server {name} {_reason(error)}")
    return ImportedServers(tuple(servers), tuple(problems))


def describe_server(server: LanguageServer) -> str:
    """Return a server with its command and its files, on one line."""
    return f"{server.name} runs {' '.join(server.command)} for {', '.join(server.files)}"


def _reason(error: ValueError) -> str:
    return f"is invalid: {error}" if isinstance(error, ValidationError) else str(error)
