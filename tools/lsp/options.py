"""Language servers that may be started, and options for them."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from fnmatch import fnmatchcase
from functools import cache
from pathlib import Path

from msgspec import Struct, convert, field
from msgspec.structs import replace

from harness.messages import JsonObject, JsonValue

TABLE = Path(__file__).with_name("known_servers.toml")
_PROJECT_FOLDERS = (".venv/bin", "venv/bin", "node_modules/.bin")
"""Folders with programs of a project, relative to its root."""


class LanguageServer(Struct, frozen=True, forbid_unknown_fields=True):
    """A language server."""

    files: dict[str, str]
    """Patterns of file names, with the language id of each."""
    command: tuple[str, ...]
    """Program and arguments."""
    name: str = ""
    """Name in the table."""
    languages: tuple[str, ...] = ()
    """Languages that it is for; servers before it in the table replace it for those."""
    root_markers: tuple[str, ...] = ()
    """Patterns of names of files in the root folder of a project."""
    runs_code: bool = False
    """True if it may run code of the project."""
    needs: str = ""
    """File without which the program is too old, relative to its folder; links to the program are resolved."""
    options: JsonObject = {}
    """Initialization options; a server that asks for its configuration receives them as well."""
    settings: JsonObject = {}
    """Configuration, if it differs from the initialization options."""
    env: dict[str, str] = {}
    """More environment variables."""
    start_s: float = 0.0
    """Seconds for the handshake; 0 = the default."""

    def has_marker(self, names: Iterable[str]) -> bool:
        """Return True if one of the names in a folder marks it as a root."""
        return any(fnmatchcase(name, marker) for name in names for marker in self.root_markers)

    def setting(self, section: str) -> JsonValue:
        """Return the part of the configuration that a server asks for; None if absent."""
        value: JsonValue = self.settings or self.options
        for key in filter(None, section.split(".")):
            value = value.get(key) if isinstance(value, dict) else None
        return value or None

    def language_id(self, path: Path) -> str:
        """Return the language id of a file; empty if the server is not for it."""
        return next((each for pattern, each in self.files.items() if fnmatchcase(path.name, pattern)), "")

    def root_of(self, path: Path, workspace: Path) -> Path:
        """Return the nearest folder above a file that contains a marker, at most `workspace`; else `workspace`."""
        if workspace not in path.parents:
            return workspace
        for folder in path.parents:
            if self.has_marker(names_in(folder)):
                return folder
            if folder == workspace:
                break
        return workspace


def names_in(folder: Path) -> list[str]:
    """Return the names in a folder; empty if it cannot be read."""
    with suppress(OSError):
        return os.listdir(folder)  # noqa: PTH208  only names are needed
    return []


@cache
def known_servers() -> tuple[LanguageServer, ...]:
    """Return the servers of the table."""
    import tomllib  # not needed before the first use

    tables = tomllib.loads(TABLE.read_text(encoding="utf-8"))
    return tuple(replace(convert(table, LanguageServer), name=name) for name, table in tables.items())


def _is_untrusted() -> bool:
    return False


class LspOptions(Struct, frozen=True):
    """Options of language servers."""

    diagnostics_after_edits: bool = True
    """True to check files after an edit."""
    edit_wait_s: float = 1.5
    """Seconds that an edit waits for diagnostics; those that come later are reported after the next edit."""
    own: tuple[LanguageServer, ...] = ()
    """Servers of the configuration; they precede the known ones and replace those of the same name."""
    disabled: tuple[str, ...] = ()
    """Names of servers that are not used."""
    is_trusted: Callable[[], bool] = _is_untrusted
    """Returns True if the user trusts the folder, so that servers may run code of the project."""
    environment: Mapping[str, str] = field(default_factory=lambda: os.environ)
    """Environment of servers, before API keys are removed."""
    secrets: Callable[[], Iterable[str]] = tuple
    """Returns the names of environment variables that servers do not receive."""
    idle_s: float = 600.0
    """Seconds without use after which a server is stopped."""

    @property
    def servers(self) -> tuple[LanguageServer, ...]:
        """All servers that are not disabled, those of the configuration first."""
        names = {each.name for each in self.own}
        every = (*self.own, *(each for each in known_servers() if each.name not in names))
        return tuple(each for each in every if each.name not in self.disabled)


class FoundServer(Struct, frozen=True):
    """An installed server."""

    server: LanguageServer
    """The server."""
    program: str
    """Path of its program."""


class MissingTrust(Struct, frozen=True):
    """A server that is not started because the folder is not trusted."""

    server: LanguageServer
    """The server."""


def find_program(server: LanguageServer, root: Path, workspace: Path, options: LspOptions) -> str:
    """Return the path of the program of a server; empty if absent or too old. Looks at the disk.

    Programs in the workspace are found only if the folder is trusted.
    """
    # Not before the first use: every start imports the tools.
    from harness.approval.paths import safe_path

    searched = options.environment.get("PATH", os.defpath)
    if options.is_trusted():
        own = [str(folder / each) for folder in dict.fromkeys((root, workspace)) for each in _PROJECT_FOLDERS]
        searched = os.pathsep.join((*own, searched))
    else:
        searched = os.pathsep.join(safe_path(searched, str(workspace.resolve())))
    program = shutil.which(server.command[0], path=searched) or ""
    is_usable = program and (not server.needs or (Path(program).resolve().parent / server.needs).exists())
    return program if is_usable else ""


def servers_for(path: Path, workspace: Path, options: LspOptions) -> Iterator[FoundServer | MissingTrust]:
    """Yield the servers for a file that are installed, one for each language. Looks at the disk."""
    served: set[str] = set()
    for server in options.servers:
        if not server.language_id(path) or served.intersection(server.languages):
            continue
        program = find_program(server, server.root_of(path, workspace), workspace, options)
        if not program:
            continue
        served.update(server.languages)
        is_held = server.runs_code and not options.is_trusted()
        yield MissingTrust(server) if is_held else FoundServer(server, program)


def installed_servers(workspace: Path, options: LspOptions) -> list[FoundServer]:
    """Return all servers whose program is found. Looks at the disk."""
    found = ((each, find_program(each, workspace, workspace, options)) for each in options.servers)
    return [FoundServer(server, program) for server, program in found if program]
