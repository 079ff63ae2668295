"""Large pastes: shown as one short placeholder, kept whole, put back when the prompt is sent.

A text area that holds a megabyte in one line takes over a second for every key.
"""

from __future__ import annotations

import re
from itertools import count

from cinch_tui.transcript.plain import harmless

MAX_LINES = 12
MAX_CHARACTERS = 800

_PLACEHOLDER = re.compile(r"\[pasted #(\d+) · [\d,]+ (?:lines|characters)\]")

# The text area ends a line at each of these, and joins all lines by one and the same.
_LINE_ENDS = re.compile("\r\n|[\r\x85\u2028\u2029]")


def typeable(text: str) -> str:
    """The text with plain newlines, and nothing in it that could steer a terminal."""
    return harmless(_LINE_ENDS.sub("\n", text))


def is_large(text: str) -> bool:
    return len(text) > MAX_CHARACTERS or text.count("\n") >= MAX_LINES


class Pastes:
    """The pastes that a prompt's placeholders stand for."""

    def __init__(self) -> None:
        self._kept: dict[str, str] = {}
        self._numbers = count(1)

    def collapse(self, text: str) -> str:
        """A placeholder for the text."""
        lines = text.rstrip("\n").count("\n") + 1
        size = f"{lines:,} lines" if lines > 1 else f"{len(text):,} characters"
        placeholder = f"[pasted #{next(self._numbers)} · {size}]"
        self._kept[placeholder] = text
        return placeholder

    def expand(self, text: str) -> str:
        """The text with every placeholder of ours replaced by what it stands for."""
        return _PLACEHOLDER.sub(lambda match: self._kept.get(match[0], match[0]), text)

    def ending_at(self, line: str, column: int) -> int | None:
        """Where the placeholder starts that ends at this column; None when there is none."""
        return next((start for start, end in self._spans(line) if end == column), None)

    def starting_at(self, line: str, column: int) -> int | None:
        """Where the placeholder ends that starts at this column; None when there is none."""
        return next((end for start, end in self._spans(line) if start == column), None)

    def whole(self, text: str, start: int, end: int) -> tuple[int, int]:
        """The span, widened to all of the placeholders that it would cut in two."""
        for first, last in self._spans(text):
            if first < end and start < last:
                start, end = min(start, first), max(end, last)
        return start, end

    def clear(self) -> None:
        self._kept.clear()
        self._numbers = count(1)

    def _spans(self, line: str) -> list[tuple[int, int]]:
        return [match.span() for match in _PLACEHOLDER.finditer(line) if match[0] in self._kept]
