"""Large pastes and images: shown as one short placeholder, kept whole, put back when the prompt is sent.

A text area that holds a megabyte in one line takes over a second for every key.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from cinch_tui.transcript.plain import harmless
from cinch_tui.user_input import MARK, Attachment, UserInput, image_mark

if TYPE_CHECKING:
    from cinch_tui.images.image_loader import LoadedImage
    from harness.messages import Image

MAX_LINES = 12
MAX_CHARACTERS = 800

_PLACEHOLDER = re.compile(r"\[pasted \d+ (?:lines|characters)(?: #\d+)?\]")
_UNIT = re.compile(f"{_PLACEHOLDER.pattern}|{MARK.pattern}")

_JOINER = "\u200d"
# They have no width either, and are no part of the letter before.
_BREAKS = "\n\t\u200b\u200c"

# The text area ends a line at each of these, and joins all lines by one and the same.
_LINE_ENDS = re.compile("\r\n|[\r\x85\u2028\u2029]")


def typeable(text: str) -> str:
    """The text with plain newlines, and nothing in it that could steer a terminal."""
    return harmless(_LINE_ENDS.sub("\n", text))


def is_large(text: str) -> bool:
    return len(text) > MAX_CHARACTERS or text.count("\n") >= MAX_LINES


class Pastes:
    """The pastes and images that a prompt's placeholders stand for."""

    def __init__(self) -> None:
        self._kept: dict[str, str] = {}
        self._images: dict[str, Image] = {}
        # Goes on from prompt to prompt, so that the model can be told of an earlier one.
        self._last_image = 0

    def attach(self, shot: LoadedImage) -> str:
        """The mark that stands for the image."""
        self._last_image += 1
        mark = image_mark(self._last_image, shot.name, shot.width, shot.height)
        self._images[mark] = shot.image
        return mark

    def adopt(self, words: UserInput) -> str:
        """The text, which replaces all that stood here; its marks stand for its images."""
        self._images.update({each.mark: each.image for each in words.images})
        self._last_image = max(self._last_image, *(int(found[1]) for found in MARK.finditer(words.text)), 0)
        return words.text

    def words(self, text: str) -> UserInput:
        """What the text says: every paste in its place, and the images whose marks it has."""
        said = self.expand(text)
        marks = dict.fromkeys(found[0] for found in MARK.finditer(text) if found[0] in self._images)
        return UserInput(said, tuple(Attachment(mark, self._images[mark]) for mark in marks))

    def collapse(self, text: str) -> str:
        """A placeholder for the text, with a number where there is one of this size already."""
        lines = text.rstrip("\n").count("\n") + 1
        size = f"{lines} lines" if lines > 1 else f"{len(text)} characters"
        placeholder, number = f"[pasted {size}]", 1
        while self._kept.get(placeholder, text) != text:
            number += 1
            placeholder = f"[pasted {size} #{number}]"
        self._kept[placeholder] = text
        return placeholder

    def collapse_all(self, text: str) -> str:
        """The text with placeholders for what is large between its images."""
        parts: list[str] = []
        start = 0
        for found in [*(match.span() for match in MARK.finditer(text) if match[0] in self._images), None]:
            between = text[start : found[0] if found else len(text)]
            parts.append(self.collapse(between) if is_large(between) else between)
            if found:
                parts.append(text[found[0] : found[1]])
                start = found[1]
        return "".join(parts)

    def expand(self, text: str) -> str:
        """The text with every placeholder of ours replaced by what it stands for."""
        return _PLACEHOLDER.sub(lambda match: self._kept.get(match[0], match[0]), text)

    def held_in(self, text: str) -> tuple[str, ...]:
        """The pastes whose placeholders stand in the text."""
        return tuple(self._kept[each[0]] for each in _PLACEHOLDER.finditer(text) if each[0] in self._kept)

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
        self._images.clear()

    def around(self, line: str, column: int) -> tuple[int, int] | None:
        """The placeholder in which the column is."""
        return next(((start, end) for start, end in self._spans(line) if start < column < end), None)

    def _spans(self, line: str) -> list[tuple[int, int]]:
        found = [match.span() for match in _UNIT.finditer(line) if match[0] in self._kept or match[0] in self._images]
        return found if line.isascii() else [*found, *_clusters(line)]


def _clusters(text: str) -> list[tuple[int, int]]:
    """What is several characters and one sign to the eye: a family of emoji, a letter and its accent."""
    from rich.cells import split_graphemes  # hardly any prompt has one

    found: list[tuple[int, int]] = []
    for start, end, _ in split_graphemes(text)[0]:
        part = text[start:end].rstrip(_BREAKS)
        if len(part) > 1 and all(letter.isprintable() or letter == _JOINER for letter in part):
            found.append((start, start + len(part)))
    return found
