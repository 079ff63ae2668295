"""Agent files: an agent in TOML, JSON or YAML, or in the Markdown of a subagent.

The keys are those of a subagent, `system_prompt` with its instructions, and tables of settings with the names of the
configuration file. `extensions.agent_options` applies them to an agent of a program.
"""

from __future__ import annotations

import json
import os
import tomllib
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

from msgspec import Struct, ValidationError, convert

from extensions.front_matter import Document, parse_document
from extensions.index_text import reason
from extensions.locations import Root
from extensions.subagents import MAX_BYTES, Subagent, subagent_of
from harness.errors import ConfigError, NotAFile
from harness.messages import JsonObject, JsonValue
from harness.workspace.disk import read_small_text
from tools.yaml_reader import parse_yaml

FILE_PREFIX = "file:"
"""Beginning of a `system_prompt` that names a file."""
KEYS: Mapping[str, tuple[type | object, str]] = {
    "name": (str, "a text"),
    "description": (str, "a text"),
    "system_prompt": (str, "a text, or file:PATH"),
    "model": (str, "a text such as provider/model"),
    "tools": (str | list[str], "a list of names"),
    "disallowedTools": (str | list[str], "a list of names"),
    "skills": (str | list[str], "a list of names"),
    "maxTurns": (int, "a number"),
    "permissionMode": (str, "a text"),
}
"""Keys of an agent file besides its tables: their types, for the check and for users."""


class AgentFile(Struct, frozen=True):
    """An agent as a file describes it."""

    role: Subagent
    """Name, description, model, tools and skills."""
    system_prompt: str = ""
    """Instructions; empty for the usual ones."""
    tables: Mapping[str, JsonValue] = {}
    """Settings in the tables of the file, by dotted name such as `limits.max_turns`."""

    @property
    def settings(self) -> dict[str, JsonValue]:
        """Settings by dotted name, those that the keys of a subagent stand for included."""
        role, settings = self.role, dict[str, JsonValue]()
        if role.model:
            settings["model.name"] = role.model
        if role.tools is not None:
            # An empty list would enable all tools.
            settings["tools.enabled"] = list(role.tools) or ["none"]
        if role.denied_tools:
            settings["tools.disabled"] = list(role.denied_tools)
        if role.max_turns:
            settings |= {"limits.max_turns": role.max_turns, "limits.max_turns_headless": role.max_turns}
        if role.is_read_only:
            settings["plan.enabled"] = True
        return settings | dict(self.tables)


def read_agent_file(path: Path | str) -> AgentFile:
    """Read an agent file.

    Raises:
        ConfigError: It cannot be read, or a key is unknown or has a wrong value; with the file and the key, and what is
            allowed.
    """
    path = Path(path)
    parse = PARSERS.get(path.suffix.lower())
    if parse is None:
        raise ConfigError(f"{path}: the name of an agent file ends in {', '.join(PARSERS)}")
    text = _text(path)
    if path.suffix.lower() == ".md":
        document = parse_document(text)
        return AgentFile(subagent_of(document, path, Root(path.parent, "user"), []), document.body.strip())
    try:
        data = parse(text)
    except (ValueError, RecursionError) as error:
        raise ConfigError(f"{path}: is not valid: {error}") from error
    if not isinstance(data, dict):
        raise ConfigError(f"{path}: is not a table of keys and values")
    keys, tables = _split(path, data)
    role = subagent_of(Document(keys, ""), path, Root(path.parent, "user"), [])
    return AgentFile(role, _prompt(path, keys), dict(_flat(tables)))


def _parse_json(text: str) -> JsonValue:
    data: JsonValue = json.loads(text)
    return data


PARSERS: Mapping[str, Callable[[str], JsonValue]] = {
    ".toml": tomllib.loads,
    ".json": _parse_json,
    ".yaml": parse_yaml,
    ".yml": parse_yaml,
    ".md": parse_yaml,
}
"""Parsers of agent files by suffix; of Markdown, only the metadata is YAML."""


def _split(path: Path, data: JsonObject) -> tuple[JsonObject, JsonObject]:
    """Return the keys and the tables of a file."""
    keys, tables = dict[str, JsonValue](), dict[str, JsonValue]()
    for key, value in data.items():
        if isinstance(value, dict):
            tables[key] = value
            continue
        if key not in KEYS:
            allowed = f"{', '.join(KEYS)}, and tables of settings such as [limits]"
            raise ConfigError(f"{path}: unknown key {key!r}; these are allowed: {allowed}")
        kind, expected = KEYS[key]
        try:
            keys[key] = convert(value, kind)
        except ValidationError:
            raise ConfigError(f"{path}: {key} must be {expected}") from None
    return keys, tables


def _prompt(path: Path, keys: JsonObject) -> str:
    text = str(keys.get("system_prompt", "")).strip()
    if not text.startswith(FILE_PREFIX):
        return text
    folder = os.path.realpath(path.parent)
    found = Path(os.path.realpath(path.parent / text.removeprefix(FILE_PREFIX)))
    # The file may come from elsewhere, and its prompt is sent to a model.
    if not found.is_relative_to(folder):
        raise ConfigError(f"{path}: system_prompt: {text} is not below {folder}; move the prompt there")
    return _text(found)


def _text(path: Path) -> str:
    try:
        return read_small_text(path, MAX_BYTES)
    except (NotAFile, OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"{path}: cannot be read: {reason(error)}") from error


def _flat(tables: JsonObject, prefix: str = "") -> Iterator[tuple[str, JsonValue]]:
    for key, value in tables.items():
        if isinstance(value, dict):
            yield from _flat(value, f"{prefix}{key}.")
        else:
            yield prefix + key, value
