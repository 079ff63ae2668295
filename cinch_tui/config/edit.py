"""Changes one setting in a configuration file and leaves the rest, with all its comments, as it was written."""

from __future__ import annotations

import errno
import os
import re
import stat
import tomllib
from collections.abc import Callable, Sequence
from pathlib import Path

import tomli_w

from cinch_tui.config.file import ASSIGNMENT, DOTTED, TABLE, flatten, plain_name, read_config_file
from cinch_tui.config.private_file import write_private
from cinch_tui.config.settings import Value
from harness.errors import ConfigError
from harness.lazy_dataclass import dataclass

WRITABLE = stat.S_IWUSR | stat.S_IWGRP | stat.S_IWOTH
_KEY = re.compile(rf"^\s*{DOTTED}\s*=[ \t]*")


def set_in_file(path: Path, name: str, value: Value) -> None:
    """Let a setting such as `ui.theme` have this value; the file is made where there is none.

    Raises:
        ConfigError: the file cannot be read or written, or says it in a way that is not for us to change.
    """
    wanted = list(value) if isinstance(value, tuple) else value
    _rewrite(path, lambda text: with_setting(text, name, value), {name: wanted}, f"set it to {wanted!r}")


def drop_from_file(path: Path, name: str) -> None:
    """Let a setting have its default again.

    Raises:
        ConfigError: as `set_in_file`.
    """
    _rewrite(path, lambda text: without_setting(text, name), {name: None}, "take it out")


def with_setting(text: str, name: str, value: Value) -> str:
    """The text of a file in which that setting has this value."""
    lines = text.splitlines(keepends=True)
    end = "\r\n" if "\r\n" in text else "\n"
    written = toml_of(value)
    outline = _outline(lines)
    if found := outline.places.get(name):
        before = "".join(lines[found.start : found.stop])
        key = _KEY.match(before)
        assert key is not None
        lines[found.start : found.stop] = [f"{key[0]}{written}{_comment(before)}{end}"]
        return "".join(lines)
    table, _, key_name = name.rpartition(".")
    line = f"{key_name} = {written}{end}"
    if table not in outline.headers:
        gap = "" if not text or text.endswith("\n") else end
        return f"{text}{gap}{end}[{table}]{end}{line}".lstrip("\r\n")
    at = _beside_example(lines, outline.headers[table], key_name)
    lines[at - 1] = lines[at - 1].rstrip("\r\n") + end
    return "".join([*lines[:at], line, *lines[at:]])


def without_setting(text: str, name: str) -> str:
    """The text of a file that does not say what that setting is."""
    lines = text.splitlines(keepends=True)
    found = _outline(lines).places.get(name)
    return "".join([*lines[: found.start], *lines[found.stop :]]) if found else text


def toml_of(value: object) -> str:
    """A value as TOML writes it, in one line."""
    if isinstance(value, list | tuple):
        items: tuple[object, ...] = tuple(value)  # pyright: ignore[reportUnknownArgumentType, reportUnknownVariableType] written by the recursion
        return f"[{', '.join(map(toml_of, items))}]"
    return tomli_w.dumps({"_": value}).removeprefix("_ = ").strip()


def _rewrite(path: Path, change: Callable[[str], str], wanted: dict[str, object], by_hand: str) -> None:
    name = next(iter(wanted))
    try:
        # Who keeps this file elsewhere and links to it wants it kept there.
        real = _followed(path)
        before = _entries(real)
        text = real.read_bytes().decode() if real.exists() else ""
        changed = change(text)
        expected = {key: value for key, value in {**before, **wanted}.items() if value is not None}
        if _parsed(changed) != expected:
            raise ConfigError(f"{path}: {name} cannot be changed from here; {by_hand} there")
        if real.exists() and not _may_be_written(real):
            raise ConfigError(
                f"{path} is read-only: {name} cannot be kept there; make it writable, or {by_hand} by hand"
            )
        write_private(real, changed)
    except OSError as error:
        raise ConfigError(f"{path}: {name} cannot be kept there: {error}") from error


def _followed(path: Path) -> Path:
    # Path.resolve() raises something else in each Python before 3.13, and nothing from there on.
    real = Path(os.path.realpath(path))
    if real.is_symlink():
        raise OSError(errno.ELOOP, os.strerror(errno.ELOOP))
    return real


def _may_be_written(path: Path) -> bool:
    """Whoever took the leave to write from a file meant it, though it could be replaced, and root may write it."""
    return bool(path.stat().st_mode & WRITABLE) and os.access(path, os.W_OK)


def _entries(path: Path) -> dict[str, object]:
    if not path.exists():
        return {}
    return {name: entry.value for name, entry in read_config_file(path).entries.items()}


def _parsed(text: str) -> dict[str, object] | None:
    try:
        return dict(flatten(tomllib.loads(text)))
    except tomllib.TOMLDecodeError:
        return None


@dataclass(frozen=True, slots=True)
class _Outline:
    """Where each setting stands, as a range of lines, and on which line each table begins."""

    places: dict[str, range]
    headers: dict[str, int]


def _outline(lines: Sequence[str]) -> _Outline:
    outline, table, at = _Outline({}, {}), "", 0
    while at < len(lines):
        stop = at + 1
        if header := TABLE.match(lines[at]):
            table = plain_name(header[1])
            outline.headers.setdefault(table, at)
        elif assignment := ASSIGNMENT.match(lines[at]):
            stop = _end_of_value(lines, at)
            name = plain_name(assignment[1])
            outline.places.setdefault(f"{table}.{name}" if table else name, range(at, stop))
        at = stop
    return outline


def _end_of_value(lines: Sequence[str], start: int) -> int:
    """Lists and long texts go on over lines: the value ends where what was read so far is TOML."""
    for stop in range(start + 1, len(lines) + 1):
        if _parsed("".join(lines[start:stop])) is not None:
            return stop
    return start + 1


def _comment(assignment: str) -> str:
    """What stands behind the value, with the blanks before it: from the first `#` that is not in the value."""
    for mark in re.finditer(r"[ \t]*#", assignment):
        if _parsed(assignment[: mark.start()]) is not None:
            return assignment[mark.start() :].rstrip("\r\n")
    return ""


def _beside_example(lines: Sequence[str], header: int, key: str) -> int:
    """The line after which a setting goes: below the one that shows it commented out, else below its table's name."""
    shown = re.compile(rf"\s*#\s*{re.escape(key)}\s*=")
    for at in range(header + 1, len(lines)):
        if TABLE.match(lines[at]):
            break
        if shown.match(lines[at]):
            return at + 1
    return header + 1
