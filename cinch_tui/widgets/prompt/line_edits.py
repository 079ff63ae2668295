"""What a shell's keys make of a text and the place of the cursor in it: pure, counted in characters."""

from __future__ import annotations

import re
from collections.abc import Callable

from harness.lazy_dataclass import dataclass

_WORD = re.compile(r"\w+")
_BLANK_WORD = re.compile(r"\S+")


@dataclass(frozen=True, slots=True)
class Change:
    """What stands from `start` to `end` becomes `text`, and the cursor goes to `cursor`."""

    start: int
    end: int
    text: str
    cursor: int


def word_end(text: str, at: int) -> int:
    """Where the word ends in which, or before which, the cursor is."""
    found = _WORD.search(text, at)
    return found.end() if found else len(text)


def word_start(text: str, at: int) -> int:
    """Where the word begins in which, or behind which, the cursor is."""
    return _last_start(_WORD, text, at)


def blank_word_start(text: str, at: int) -> int:
    """As `word_start`, where only blanks part words."""
    return _last_start(_BLANK_WORD, text, at)


def line_start(text: str, at: int) -> int:
    """The start of the line; there already, the end of the line before."""
    start = text.rfind("\n", 0, at) + 1
    return start if start < at else max(at - 1, 0)


def line_end(text: str, at: int) -> int:
    """The end of the line; there already, the start of the next."""
    end = text.find("\n", at)
    if end < 0:
        return len(text)
    return end if end > at else at + 1


def swapped_letters(text: str, at: int) -> Change | None:
    """The letter before the cursor goes over the one under it; at the end of a line the last two change places."""
    if at == len(text) or text[at] == "\n":
        at -= 1
    if at < 1 or "\n" in text[at - 1 : at + 1]:
        return None
    return Change(at - 1, at + 1, text[at] + text[at - 1], at + 1)


def swapped_words(text: str, at: int) -> Change | None:
    """The word before the cursor goes over the one at or after it; behind the last word the last two change places."""
    words = [match.span() for match in _WORD.finditer(text)]
    second = next((index for index, (_, end) in enumerate(words) if end > at), len(words) - 1)
    if second < 1:
        return None
    (start, first_end), (second_start, end) = words[second - 1], words[second]
    return Change(start, end, text[second_start:end] + text[first_end:second_start] + text[start:first_end], end)


def recased_word(text: str, at: int, case: Callable[[str], str]) -> Change:
    """The word from the cursor on in another case, and the cursor behind it."""
    end = word_end(text, at)
    return Change(at, end, case(text[at:end]), end)


def _last_start(pattern: re.Pattern[str], text: str, at: int) -> int:
    starts = [match.start() for match in pattern.finditer(text, 0, at)]
    return starts[-1] if starts else 0
