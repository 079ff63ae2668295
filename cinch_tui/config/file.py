"""Configuration files as dotted keys with line numbers.

tomllib reports no line numbers for keys, so the text is scanned a second time for error messages.
"""

from __future__ import annotations

import hashlib
import re
import tomllib
from collections.abc import Iterator
from pathlib import Path

from msgspec import Struct

from harness.errors import ConfigError, NotAFile
from harness.workspace.disk import read_beginning

LARGEST = 256 * 1024
"""Maximum size of a configuration file, in bytes."""
DEEPEST = 16
"""Maximum nesting of tables and lists."""

PART = r"""(?:[A-Za-z0-9_-]+|"[^"]*"|'[^']*')"""
LONG_KEY = re.compile(rf"(?<![A-Za-z0-9_-])(?:{PART}[ \t]*\.[ \t]*){{{DEEPEST}}}")
DOTTED = rf"{PART}(?:\s*\.\s*{PART})*"
TABLE = re.compile(rf"^\s*\[\[?\s*({DOTTED})\s*\]")
ASSIGNMENT = re.compile(rf"^\s*({DOTTED})\s*=\s*(.*)")
TOML_PLACE = re.compile(r"\s*\(at (?:line (\d+), column \d+|end of document)\)")


class ConfigEntry(Struct, frozen=True):
    """A value of a file with its line number."""

    value: object
    line: int
    """Line number; 0 if unknown."""


class ConfigFile(Struct, frozen=True):
    """A configuration file as read."""

    path: Path
    sha256: str
    """Hash of the content; trust in a project file applies to exactly this content."""

    entries: dict[str, ConfigEntry]
    """Values by dotted name."""


def read_config_file(path: Path) -> ConfigFile:
    """Read a configuration file.

    Raises:
        ConfigError: the file cannot be read, is too large or nested too deeply, or is not valid UTF-8 or TOML; with
            path and line.
    """
    content = _content(path)
    try:
        text = content.decode("utf-8").replace("\r\n", "\n").replace("\r", "\n")
    except UnicodeDecodeError as error:
        raise ConfigError(f"{path}: is not UTF-8 text (byte {error.start})") from error
    # The parser stores every prefix of a dotted key, which takes gigabytes for a long one.
    if LONG_KEY.search(text):
        raise ConfigError(f"{path}: is nested too deeply")
    try:
        data = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise ConfigError(_explain(path, text, str(error))) from error
    except RecursionError as error:
        raise ConfigError(f"{path}: is nested too deeply") from error
    if not _is_shallow(data):
        raise ConfigError(f"{path}: is nested too deeply")
    lines = _lines_of_keys(text)
    entries = {name: ConfigEntry(value, _line_of(name, lines)) for name, value in flatten(data)}
    return ConfigFile(path, hashlib.sha256(content).hexdigest(), entries)


def _content(path: Path) -> bytes:
    try:
        content, size = read_beginning(path, LARGEST + 1)
    except NotAFile as error:
        raise ConfigError(f"{path}: not a regular file: it is {error}") from error
    except OSError as error:
        raise ConfigError(f"{path}: cannot be read: {error.strerror}") from error
    if len(content) > LARGEST:
        raise ConfigError(f"{path}: is too large: {size:,} bytes; the limit is {LARGEST:,}")
    return content


def _is_shallow(value: object, levels: int = DEEPEST) -> bool:
    """Return True if no value is nested deeper than `levels`."""
    match value:
        case dict():
            items: list[object] = list(value.values())  # pyright: ignore[reportUnknownMemberType, reportUnknownArgumentType] only looked into
        case list():
            items = list(value)  # pyright: ignore[reportUnknownArgumentType] as above
        case _:
            return True
    return not items or (levels > 1 and all(_is_shallow(item, levels - 1) for item in items))


def _explain(path: Path, text: str, problem: str) -> str:
    place = TOML_PLACE.search(problem)
    line = int(place[1]) if place and place[1] else len(text.splitlines())
    message = TOML_PLACE.sub("", problem)
    return f"{path}, line {line}: is not valid TOML: {message[:1].lower()}{message[1:]}"


def flatten(table: dict[str, object], prefix: str = "") -> Iterator[tuple[str, object]]:
    """Yield each value of nested tables with its dotted name."""
    for key, value in table.items():
        if isinstance(value, dict):
            yield from flatten(value, f"{prefix}{key}.")  # pyright: ignore[reportUnknownArgumentType] TOML keys are strings
        else:
            yield prefix + key, value


def _lines_of_keys(text: str) -> dict[str, int]:
    found: dict[str, int] = {}
    table = ""
    closing = ""
    for number, line in enumerate(text.splitlines(), start=1):
        if closing:
            closing = "" if closing in line else closing
            continue
        if header := TABLE.match(line):
            table = plain_name(header[1]) + "."
            found.setdefault(table[:-1], number)
        elif assignment := ASSIGNMENT.match(line):
            found.setdefault(table + plain_name(assignment[1]), number)
            closing = _opens_text(assignment[2])
    return found


def _opens_text(value: str) -> str:
    """Return the closing quotes of a multi-line string that begins here, else an empty text."""
    quotes = value[:3]
    return quotes if quotes in ('"""', "'''") and quotes not in value[3:] else ""


def plain_name(dotted: str) -> str:
    return ".".join(part.strip().strip("\"'") for part in dotted.split("."))


def _line_of(name: str, lines: dict[str, int]) -> int:
    """Return the line of a key; for a key in an inline table, the line of the table."""
    while name and name not in lines:
        name = name.rpartition(".")[0]
    return lines.get(name, 1)
