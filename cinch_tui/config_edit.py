"""Changes one setting in a configuration file and leaves the rest, with all its comments, as it was written."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import tomli_w

from cinch_tui.private_file import write_private
from harness.errors import ConfigError

TABLE = re.compile(r"\s*\[\[?\s*(?P<name>[^\]]*?)\s*\]")


def set_in_file(path: Path, name: str, value: str) -> None:
    """Let a setting such as `ui.theme` have this value; the file is made where there is none.

    Raises:
        ConfigError: the file cannot be read or written, or says it in a way that is not for us to change.
    """
    try:
        text = path.read_text(encoding="utf-8") if path.exists() else ""
        changed = with_setting(text, name, value)
        if _value_of(changed, name) != value:
            raise ConfigError(f"{path}: {name} cannot be changed from here; set it to {value!r} there")
        write_private(path, changed)
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"{path}: {name} cannot be kept there: {error}") from error


def with_setting(text: str, name: str, value: str) -> str:
    """The text of a file in which that setting has this value."""
    table, _, key = name.rpartition(".")
    written = tomli_w.dumps({key: value}).strip()
    lines, inside, header = text.splitlines(keepends=True), "", -1
    for index, line in enumerate(lines):
        if found := TABLE.match(line):
            inside = found["name"]
            header = index if inside == table else header
        elif match := _assignment(key if inside == table else name if not inside else "").match(line):
            lines[index] = f"{match['key']}{written.partition('=')[2].strip()}{match['comment']}\n"
            return "".join(lines)
    if header < 0:
        gap = "\n" if text and not text.endswith("\n") else ""
        return f"{text}{gap}\n[{table}]\n{written}\n".lstrip("\n")
    return "".join([*lines[:header], lines[header].rstrip("\n"), f"\n{written}\n", *lines[header + 1 :]])


def _assignment(key: str) -> re.Pattern[str]:
    # Where no key fits, nothing does.
    name = re.escape(key).replace(r"\.", r"\s*\.\s*") if key else r"(?!)"
    return re.compile(rf"(?P<key>\s*{name}\s*=\s*)(?:\"[^\"\n]*\"|'[^'\n]*'|[^\s#]+)(?P<comment>[ \t]*(?:#.*)?)$")


def _value_of(text: str, name: str) -> object:
    """What a file of this text sets; None where it is no TOML."""
    try:
        value: object = tomllib.loads(text)
    except tomllib.TOMLDecodeError:
        return None
    for part in name.split("."):
        value = value.get(part) if isinstance(value, dict) else None  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType] only compared
    return value  # pyright: ignore[reportUnknownVariableType] only compared
