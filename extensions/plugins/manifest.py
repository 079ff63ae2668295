"""Manifest of a plugin: `.claude-plugin/plugin.json`, or the entry of a catalog.

Source: the reference of plugins of Claude Code, https://code.claude.com/docs/en/plugins-reference.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from pathlib import Path

from msgspec import Struct

from extensions.locations import Kind
from extensions.plugins.source import inner_path
from harness.errors import ConfigError, NotAFile
from harness.messages import JsonObject, JsonValue
from harness.terminal_text import escape_controls
from harness.workspace.disk import read_small_text

FOLDERS = (".cinch-plugin", ".claude-plugin")
"""Folders that may contain a manifest; the first one counts."""
LARGEST = 2**20
"""Maximum size of a manifest or catalog in bytes."""
KEYS: Mapping[Kind, str] = {
    "skill": "skills",
    "command": "commands",
    "subagent": "agents",
    "output style": "outputStyles",
    "script tool": "tools",
}
"""Keys of paths, by kind of extension."""
_NAME = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9._-]{0,62}[A-Za-z0-9])?")
_UNUSED = {
    "themes": "themes",
    "monitors": "monitors",
    "userConfig": "options that the user sets",
    "dependencies": "dependencies on other plugins",
}
_LONGEST_DESCRIPTION = 300


class Manifest(Struct, frozen=True):
    """A manifest whose paths stay within the plugin."""

    name: str = ""
    """Name; empty if it has none."""
    version: str = ""
    """Version as written."""
    description: str = ""
    """Purpose, on one line."""
    paths: Mapping[Kind, tuple[str, ...]] = {}
    """Paths of extensions in addition to the standard folders."""
    hooks: tuple[str | JsonObject, ...] = ()
    """Paths of files with hooks, and hooks, in addition to `hooks/hooks.json`."""
    servers: tuple[str | JsonObject, ...] = ()
    """Paths of files with MCP servers, and servers, in addition to `.mcp.json`."""
    language_servers: tuple[str | JsonObject, ...] = ()
    """Paths of files with language servers, and servers, in addition to `.lsp.json`."""
    is_exclusive: bool = False
    """True if nothing of a kind with paths is used but these."""
    problems: tuple[str, ...] = ()
    """Parts that are not used."""


def read_manifest(folder: Path, entry: JsonObject | None = None) -> Manifest:
    """Return the manifest of a plugin, an empty one if it has none.

    Args:
        folder: The plugin.
        entry: Its entry in a catalog, which adds to the manifest, or takes its place with `"strict": false`.

    Raises:
        ConfigError: It is invalid, or a path leads out of the plugin.
    """
    written: JsonObject = {}
    for path in (folder / name / "plugin.json" for name in FOLDERS):
        if path.is_file():
            written = read_object(path)
            break
    entry = entry or {}
    is_exclusive = entry.get("strict") is False and not any(key in written for key in KEYS.values())
    sources = [entry] if entry.get("strict") is False else [written, entry]
    problems = [f"{text} are not used" for key, text in _UNUSED.items() if any(key in each for each in sources)]
    about = {**written, **{key: value for key, value in entry.items() if key in ("name", "description", "version")}}
    return Manifest(
        _text(about, "name"),
        _text(about, "version")[:40],
        _text(about, "description")[:_LONGEST_DESCRIPTION],
        {kind: found for kind, key in KEYS.items() if (found := _paths(sources, key, problems))},
        _files_or_objects(sources, "hooks", problems),
        _files_or_objects(sources, "mcpServers", problems),
        _files_or_objects(sources, "lspServers", problems),
        is_exclusive,
        tuple(problems),
    )


def read_object(path: Path) -> JsonObject:
    """Return the object in a JSON file.

    Raises:
        ConfigError: The file cannot be read, or contains something else.
    """
    try:
        value: JsonValue = json.loads(read_small_text(path, LARGEST))
    except (NotAFile, OSError) as error:
        raise ConfigError(f"{path} cannot be read: {error}") from error
    except (ValueError, RecursionError) as error:
        raise ConfigError(f"{path} is not valid JSON: {error}") from error
    if not isinstance(value, dict):
        raise ConfigError(f"{path} is not a JSON object")
    return value


def is_name(text: str) -> bool:
    """Return True if a plugin may have this name."""
    return _NAME.fullmatch(text) is not None


def checked_name(name: str) -> str:
    """Return a name that can be that of a folder and the beginning of the names of extensions.

    Raises:
        ConfigError: It cannot.
    """
    if not is_name(name):
        shown = escape_controls(name[:80])
        raise ConfigError(
            f"{shown!r} cannot be the name of a plugin: use at most 64 letters, digits, hyphens, dots and underscores; "
            "--name gives it another"
        )
    return name


def _text(data: JsonObject, key: str) -> str:
    value = data.get(key)
    return " ".join(value.split()) if isinstance(value, str) else ""


def _listed(value: JsonValue) -> list[JsonValue]:
    if value is None:
        return []
    return value if isinstance(value, list) else [value]


def _paths(sources: list[JsonObject], key: str, problems: list[str]) -> tuple[str, ...]:
    found: dict[str, None] = {}
    for each in (each for source in sources for each in _listed(source.get(key))):
        if isinstance(each, str):
            found[inner_path(each)] = None
        else:
            problems.append(f"{key} are used from paths only")
    return tuple(found)


def _files_or_objects(sources: list[JsonObject], key: str, problems: list[str]) -> tuple[str | JsonObject, ...]:
    found: list[str | JsonObject] = []
    for each in (each for source in sources for each in _listed(source.get(key))):
        if isinstance(each, dict):
            found.append(each)
        elif isinstance(each, str) and each.endswith(".json"):
            found.append(inner_path(each))
        else:
            problems.append(f"{key}: {escape_controls(str(each)[:80])} is not used; it is no JSON file")
    return tuple(found)
