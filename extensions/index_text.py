"""Indexes for models: names with descriptions, within a limited length."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from harness.errors import ConfigError, NotAFile
from harness.terminal_text import escape_controls, strip_escapes

FileError = (ConfigError, NotAFile, OSError, UnicodeDecodeError)
"""Errors of an extension file that cannot be used."""
_SHORTEST = 20
"""Length of a description below which all of them are left out, in characters."""
_HINT_CHARS = 100


def index_text(entries: Sequence[tuple[str, str]], room: int, hint: str) -> str:
    """Return a list of names with descriptions, at most `room` characters long.

    Descriptions are shortened evenly, then left out; then names are left out, and their number is stated.

    Args:
        entries: Names and descriptions.
        room: Maximum length in characters.
        hint: Text after the number of omitted names, at most 80 characters long.
    """
    lengths = [len(description) for _, description in entries]
    length = _even_length(lengths, room - sum(len(f"- {name}: \n") for name, _ in entries))
    if length >= min(_SHORTEST, max(lengths, default=0)):
        return "\n".join(f"- {name}: {shortened(text, length)}".removesuffix(": ") for name, text in entries)
    return _names([name for name, _ in entries], room, hint)


def shortened(text: str, length: int) -> str:
    """Return a text with at most `length` characters."""
    return text if len(text) <= length else f"{text[: length - 1].rstrip()}…"


def one_line(text: str) -> str:
    """Return a text from a file as one line without control characters."""
    if text.isprintable() and "  " not in text:
        # Nearly all texts; several times faster.
        return text.strip()
    return " ".join(strip_escapes(text).split())


def shown(text: str | Path) -> str:
    """Return a name or path with control characters escaped, for messages to the user."""
    return escape_controls(str(text)).replace("\n", " ")


def reason(error: Exception) -> str:
    """Return why a file cannot be used, as the end of a sentence about it; `error` is one of `FileError`."""
    match error:
        case UnicodeDecodeError():
            return "it is not UTF-8 text"
        case NotAFile():
            return f"it is {error}"
        case OSError():
            return f"{error.strerror}".lower()
        case _:
            return str(error)


def _even_length(lengths: Sequence[int], room: int) -> int:
    """Return the largest length to which all texts can be shortened so that they fit."""
    for done, length in enumerate(sorted(lengths)):
        share = room // (len(lengths) - done)
        if share < length:
            return share
        room -= length
    return max(lengths, default=0)


def _names(names: Sequence[str], room: int, hint: str) -> str:
    text = ", ".join(names)
    if len(text) <= room:
        return text
    kept = text[: room - _HINT_CHARS].rpartition(", ")[0]
    return f"{kept}\n\n{len(names) - kept.count(', ') - 1} {hint}"
