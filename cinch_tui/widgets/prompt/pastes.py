"""Placeholders for large pastes and images, expanded when the prompt is sent.

A text area with a megabyte in one line takes over a second per key.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from cinch_tui.user_input import MARK, Attachment, UserInput, image_mark
from harness.terminal_text import escape_controls

if TYPE_CHECKING:
    from cinch_tui.images.image_loader import LoadedImage
    from harness.messages import Image

MAX_LINES = 12
MAX_CHARACTERS = 800

_PLACEHOLDER = re.compile(r"\[pasted \d+ (?:lines|characters)(?: #\d+)?\]")
_UNIT = re.compile(f"{_PLACEHOLDER.pattern}|{MARK.pattern}")

_JOINER = "\u200d"
# Zero-width characters that do not combine with the letter before.
_BREAKS = "\n\t\u200b\u200c"

# The text area splits lines at each of these and joins them with a single kind.
_LINE_ENDS = re.compile("\r\n|[\r\x85\u2028\u2029]")


def typeable(text: str) -> str:
    """Normalize newlines and sanitize the text."""
    return escape_controls(_LINE_ENDS.sub("\n", text))


def is_large(text: str) -> bool:
    return len(text) > MAX_CHARACTERS or text.count("\n") >= MAX_LINES


class Pastes:
    """Pastes and images of the placeholders in a prompt."""

    def __init__(self) -> None:
        self._kept: dict[str, str] = {}
        self._images: dict[str, Image] = {}
        # Counts across prompts, so that earlier images can be referred to.
        self._last_image = 0

    def attach(self, loaded: LoadedImage) -> str:
        """Add an image and return its mark."""
        self._last_image += 1
        mark = image_mark(self._last_image, loaded.name, loaded.width, loaded.height)
        self._images[mark] = loaded.image
        return mark

    def adopt(self, user_input: UserInput) -> str:
        """Register the images of a new prompt text and return the text."""
        self._images.update({each.mark: each.image for each in user_input.images})
        self._last_image = max(self._last_image, *(int(found[1]) for found in MARK.finditer(user_input.text)), 0)
        return user_input.text

    def input_of(self, text: str) -> UserInput:
        """Expand the pastes of a text and collect the images of its marks."""
        expanded = _PLACEHOLDER.sub(lambda match: self._kept.get(match[0], match[0]), text)
        marks = dict.fromkeys(found[0] for found in MARK.finditer(text) if found[0] in self._images)
        return UserInput(expanded, tuple(Attachment(mark, self._images[mark]) for mark in marks))

    def collapse(self, text: str) -> str:
        """Return a placeholder for the text, numbered if one of this size exists."""
        lines = text.rstrip("\n").count("\n") + 1
        size = f"{lines} lines" if lines > 1 else f"{len(text)} characters"
        placeholder, number = f"[pasted {size}]", 1
        while self._kept.get(placeholder, text) != text:
            number += 1
            placeholder = f"[pasted {size} #{number}]"
        self._kept[placeholder] = text
        return placeholder

    def collapse_all(self, text: str) -> str:
        """Replace large parts between images by placeholders."""
        parts: list[str] = []
        start = 0
        marks = [match.span() for match in MARK.finditer(text) if match[0] in self._images]
        for first, last in [*marks, (len(text), len(text))]:
            between = text[start:first]
            parts += [self.collapse(between) if is_large(between) else between, text[first:last]]
            start = last
        return "".join(parts)

    def pastes_in(self, text: str) -> tuple[str, ...]:
        """Return the pastes whose placeholders are in the text."""
        return tuple(self._kept[each[0]] for each in _PLACEHOLDER.finditer(text) if each[0] in self._kept)

    def ending_at(self, line: str, column: int) -> int | None:
        """Return the start of the placeholder that ends at this column, if any."""
        return next((start for start, end in self._spans(line) if end == column), None)

    def starting_at(self, line: str, column: int) -> int | None:
        """Return the end of the placeholder that starts at this column, if any."""
        return next((end for start, end in self._spans(line) if start == column), None)

    def extend_span(self, text: str, start: int, end: int) -> tuple[int, int]:
        """Extend the span to placeholders that it would split."""
        for first, last in self._spans(text):
            if first < end and start < last:
                start, end = min(start, first), max(end, last)
        return start, end

    def clear(self) -> None:
        self._kept.clear()
        self._images.clear()

    def around(self, line: str, column: int) -> tuple[int, int] | None:
        """Return the placeholder that contains the column."""
        return next(((start, end) for start, end in self._spans(line) if start < column < end), None)

    def _spans(self, line: str) -> list[tuple[int, int]]:
        found = [match.span() for match in _UNIT.finditer(line) if match[0] in self._kept or match[0] in self._images]
        return found if line.isascii() else [*found, *_clusters(line)]


def _clusters(text: str) -> list[tuple[int, int]]:
    """Return graphemes of several characters, such as emoji families and letters with accents."""
    from rich.cells import split_graphemes  # rarely needed

    found: list[tuple[int, int]] = []
    for start, end, _ in split_graphemes(text)[0]:
        part = text[start:end].rstrip(_BREAKS)
        if len(part) > 1 and all(letter.isprintable() or letter == _JOINER for letter in part):
            found.append((start, start + len(part)))
    return found
