"""Pure functions for readline-style editing; positions are counted in characters."""

from __future__ import annotations

import re
from collections.abc import Callable

from msgspec import Struct

_WORD = re.compile(r"\w+")
_BLANK_WORD = re.compile(r"\S+")


class TextEdit(Struct, frozen=True):
    """Replace `start` to `end` by `text`, and move the cursor to `cursor`."""

    start: int
    end: int
    text: str
    cursor: int


def word_end(text: str, at: int) -> int:
    """Return the end of the current or next word."""
    found = _WORD.search(text, at)
    return found.end() if found else len(text)


def word_start(text: str, at: int) -> int:
    """Return the start of the current or previous word."""
    return _last_start(_WORD, text, at)


def blank_word_start(text: str, at: int) -> int:
    """Return the start of the current or previous blank-separated word."""
    return _last_start(_BLANK_WORD, text, at)


def line_start(text: str, at: int) -> int:
    """Return the start of the line; if already there, the end of the previous line."""
    start = text.rfind("\n", 0, at) + 1
    return start if start < at else max(at - 1, 0)


def line_end(text: str, at: int) -> int:
    """Return the end of the line; if already there, the start of the next line."""
    end = text.find("\n", at)
    if end < 0:
        return len(text)
    return end if end > at else at + 1


def swapped_letters(text: str, at: int) -> TextEdit | None:
    """Swap the letter before the cursor with the one under it; at the end of a line the last two."""
    if at == len(text) or text[at] == "\n":
        at -= 1
    if at < 1 or "\n" in text[at - 1 : at + 1]:
        return None
    return TextEdit(at - 1, at + 1, text[at] + text[at - 1], at + 1)


def swapped_words(text: str, at: int) -> TextEdit | None:
    """Swap the word before the cursor with the one at or after it; after the last word the last two."""
    words = [match.span() for match in _WORD.finditer(text)]
    second = next((index for index, (_, end) in enumerate(words) if end > at), len(words) - 1)
    if second < 1:
        return None
    (start, first_end), (second_start, end) = words[second - 1], words[second]
    return TextEdit(start, end, text[second_start:end] + text[first_end:second_start] + text[start:first_end], end)


def recased_word(text: str, at: int, case: Callable[[str], str]) -> TextEdit:
    """Change the case from the cursor to the end of the word, and move behind it."""
    end = word_end(text, at)
    return TextEdit(at, end, case(text[at:end]), end)


def capitalized(word: str) -> str:
    """Capitalize the first letter, after leading punctuation."""
    start = next((index for index, letter in enumerate(word) if letter.isalnum()), 0)
    return word[:start] + word[start : start + 1].upper() + word[start + 1 :].lower()


def _last_start(pattern: re.Pattern[str], text: str, at: int) -> int:
    starts = [match.start() for match in pattern.finditer(text, 0, at)]
    return starts[-1] if starts else 0
