"""Files that `find` gives to a command, as far as its expression restricts them."""

from __future__ import annotations

import re
from collections.abc import Sequence

from msgspec import Struct
from msgspec.structs import replace

from tools.shell.tables import load_table
from tools.shell.words import Word

_NAME = re.compile(r"[\w.?*-]+")
_OR = ("-o", "-or")
_NOT = ("!", "-not")
_DEEPEST = 20
_ACTIONS = frozenset({"-print", "-print0", "-printf", "-ls", "-exec"})


class FoundFiles(Struct, frozen=True):
    """Restrictions of the files that are found."""

    names: tuple[str, ...] = ()
    """Patterns of which each name matches one; empty if they may have any name."""
    only_files: bool = False
    """True if neither folders nor links are found."""


def found_files(words: Sequence[Word]) -> FoundFiles:
    """Return the restrictions of the files that a `find` command prints, or runs a command for."""
    texts = [word.text if word.is_literal else None for word in words]
    if "," in texts or texts.count("(") > _DEEPEST:
        return FoundFiles()
    found = _Reader([text or "" for text in texts]).read()
    follows = not {"-L", "-follow"}.isdisjoint(texts)
    return replace(found, only_files=found.only_files and not follows)


class _Reader:
    """Reader of an expression. `find` evaluates it from left to right, so an action has the tests before it."""

    def __init__(self, texts: Sequence[str]) -> None:
        self._texts = [*texts]
        self._actions: list[FoundFiles] = []
        table = load_table("find")
        assert table is not None
        self._arities = table.options.arities

    def read(self) -> FoundFiles:
        result = FoundFiles()
        while self._texts:
            result = self._expression(FoundFiles())
            del self._texts[:1]
        first, *others = self._actions or [result]
        for other in others:
            first = _either(first, other)
        return first

    def _expression(self, before: FoundFiles) -> FoundFiles:
        result = self._conjunction(before)
        while self._texts[:1] and self._texts[0] in _OR:
            del self._texts[:1]
            result = _either(result, self._conjunction(before))
        return result

    def _conjunction(self, found: FoundFiles) -> FoundFiles:
        while self._texts and self._texts[0] not in (*_OR, ")"):
            found = self._test(found)
        return found

    def _test(self, found: FoundFiles) -> FoundFiles:
        text = self._texts.pop(0)
        if text in _NOT:
            while self._texts[:1] and self._texts[0] in _NOT:
                del self._texts[:1]
            if self._texts:
                self._test(found)
            return found
        if text == "(":
            found = self._expression(found)
            del self._texts[:1]
            return found
        if text in _ACTIONS:
            self._actions.append(found)
        if text == "-exec":
            ends = [index for index, each in enumerate(self._texts) if each in (";", "+")]
            del self._texts[: ends[0] + 1 if ends else None]
        elif self._arities.get(text) == "one":
            return _restricted(found, text, "".join(self._texts[:1]), self._texts)
        return found


def _restricted(found: FoundFiles, test: str, value: str, rest: list[str]) -> FoundFiles:
    del rest[:1]
    if test in ("-name", "-iname") and not found.names and _NAME.fullmatch(value):
        return replace(found, names=(value,))
    return replace(found, only_files=found.only_files or (test == "-type" and value == "f"))


def _either(first: FoundFiles, second: FoundFiles) -> FoundFiles:
    names = (*first.names, *second.names) if first.names and second.names else ()
    return FoundFiles(names, first.only_files and second.only_files)
