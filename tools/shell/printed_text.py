"""Text that commands print, as far as it is literal: other commands may run it, or take it for arguments."""

from __future__ import annotations

import posixpath
from collections.abc import Iterator, Sequence

from tools.shell.syntax import Command
from tools.shell.words import Word

_PRINTERS = frozenset({"echo", "printf"})
_FILTERS = frozenset({"-name", "-iname", "-path", "-ipath", "-regex", "-empty", "-mtime", "-mmin", "-newer", "-size"})


def here_texts(command: Command) -> Iterator[str]:
    """Yield the here-documents and here-strings of a command."""
    for redirect in command.redirects:
        if redirect.operator.startswith("<<") and redirect.target.text is not None:
            yield redirect.target.text


def printed_text(command: Command) -> str:
    """Return the text that a command prints."""
    name = _name(command)
    if name in _PRINTERS:
        return " ".join(word.text or "" for word in command.words[1:])
    return "\n".join(here_texts(command)) if name == "cat" else ""


def printed_words(commands: Sequence[Command]) -> Iterator[Word]:
    """Yield the words that commands print, and the folders of which they list all files."""
    for command in commands:
        name = _name(command)
        if name in _PRINTERS:
            yield from command.words[1:]
        elif name == "find" and _FILTERS.isdisjoint(word.text for word in command.words):
            yield from command.words[1:2]


def _name(command: Command) -> str:
    return posixpath.basename(command.words[0].text or "") if command.words else ""
