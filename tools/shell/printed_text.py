"""Literal text in commands that others may run or take for arguments: what they print, and strings of programs."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator, Sequence

from tools.shell.syntax import Command
from tools.shell.words import Word

_PRINTERS = frozenset({"echo", "printf"})
_STRING = re.compile(r"([\"'`])((?:(?!\1).)*)\1", re.DOTALL)
_REMOVAL = re.compile(
    r"(?:rmtree|rm_rf?|rmSync|rmdirSync|remove_tree|removeSync|rimraf)\b\s*\(?\s*([\"'`])([^\"'`]*)\1"
)
_RUNS = re.compile(r"system|exec|popen|spawn|subprocess|%x")
_FILTERS = frozenset({"-name", "-iname", "-path", "-ipath", "-regex", "-empty", "-mtime", "-mmin", "-newer", "-size"})


def here_texts(command: Command) -> Iterator[str]:
    """Yield the here-documents and here-strings of a command."""
    for redirect in command.redirects:
        if redirect.operator.startswith("<<") and redirect.target.text is not None:
            yield redirect.target.text


def is_fed(command: Command, start: int) -> bool:
    """Return True if xargs adds words to the program at the word `start`."""
    return any(word.text == "xargs" for word in command.words[:start])


def removed_folders(text: str) -> Iterator[str]:
    """Yield the folders that a program text deletes, as far as it names them: `shutil.rmtree("build")`."""
    return (found[2] for found in _REMOVAL.finditer(text))


def run_lines(text: str) -> list[str]:
    """Return the strings of a program text that starts other programs: they may be command lines."""
    return [found[2] for found in _STRING.finditer(text)] if _RUNS.search(text) else []


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
