"""Patterns of searches: texts without which no line matches, so a search shows nothing of files without them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Literal, TypeAlias

Dialect: TypeAlias = Literal["basic", "extended", "fixed"]
"""Regular expressions of `grep`, those of `grep -E`, `grep -P` and ripgrep, and plain text."""

_SHORTEST = 3
# Classes and positions: what they match is not known.
_CLASSES = frozenset("bBwWsSdD<>")


def required_texts(patterns: Sequence[str], dialect: Dialect) -> tuple[str, ...]:
    """Return texts in lower case of which one is in everything that the patterns match; empty if there are none."""
    found = [text for pattern in patterns for text in _longest(pattern, dialect)]
    return tuple(dict.fromkeys(found)) if all(found) else ()


def _longest(pattern: str, dialect: Dialect) -> Iterator[str]:
    """Yield the longest text of each alternative; an empty string for one that may match without."""
    reader = _Reader(pattern, dialect)
    if dialect == "fixed":
        alternatives = [[line] for line in pattern.split("\n")]
    else:
        alternatives = reader.alternatives if reader.read() else [[""]]
    for texts in alternatives:
        longest = max(texts, key=len).lower()
        yield longest if len(longest) >= _SHORTEST and longest.isascii() else ""


class _Reader:
    """Reader of a regular expression. It gives up on groups, and on what dialects read differently."""

    def __init__(self, pattern: str, dialect: Dialect) -> None:
        self.alternatives = [[""]]
        self._pattern = pattern
        self._at = 0
        self._is_basic = dialect == "basic"

    def read(self) -> bool:
        """Read the pattern; return False if it is not understood."""
        while self._at < len(self._pattern):
            if not self._piece(self._next()):
                return False
        return True

    def _next(self) -> str:
        letter = self._pattern[self._at : self._at + 1]
        self._at += 1
        return letter

    def _piece(self, letter: str) -> bool:
        if letter == "\\":
            return self._escape(self._next())
        if letter == "[":
            return self._bracket()
        if letter == "*" or (letter in "+?{" and not self._is_basic):
            return self._repetition(letter)
        if letter in ".^$":
            self._break()
        elif letter == "\n" or (letter == "|" and not self._is_basic):
            self.alternatives.append([""])
        elif letter in "()" and not self._is_basic:
            return False
        else:
            self.alternatives[-1][-1] += letter
        return True

    def _escape(self, letter: str) -> bool:
        if self._is_basic and letter == "|":
            self.alternatives.append([""])
        elif self._is_basic and letter in ("+", "?"):
            self._repetition(letter)
        elif letter in _CLASSES:
            self._break()
        elif letter == "" or letter.isalnum() or letter.isspace() or (self._is_basic and letter in "(){}"):
            return False
        else:
            self.alternatives[-1][-1] += letter
        return True

    def _bracket(self) -> bool:
        # A bracket that comes first is literal.
        start = self._at + (self._pattern[self._at : self._at + 1] == "^")
        end = self._pattern.find("]", start + 1)
        if end < 0 or not {"[", "\\"}.isdisjoint(self._pattern[start:end]):
            return False
        self._at = end + 1
        self._break()
        return True

    def _repetition(self, letter: str) -> bool:
        """Remove the last letter, which may not be there at all."""
        texts = self.alternatives[-1]
        texts[-1] = texts[-1][:-1]
        self._break()
        if letter == "{":
            end = self._pattern.find("}", self._at)
            self._at = end + 1
            return end >= 0
        return True

    def _break(self) -> None:
        self.alternatives[-1].append("")
