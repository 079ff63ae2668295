"""Shortening of a judge's input, by pure functions, in three steps.

A text that fits is unchanged. Otherwise its last lines are kept; then the first and last paragraph of those; then it is
cut in the middle. Each step is at most as long as the one before. Lengths are in characters.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from msgspec import Struct
from msgspec.structs import replace

MAX_LAST_LINES = 80
MIN_CHARS = 200
"""Minimum number of characters that are kept of a text."""


class Reading(Struct, frozen=True):
    """Input of a judge: the earlier conversation, and the outputs in order."""

    context: str
    outputs: tuple[str, ...]

    @property
    def length(self) -> int:
        return len(self.context) + sum(map(len, self.outputs))


def fitted(reading: Reading, room: int) -> Reading:
    """Shorten a reading to `room` characters, or as far as possible; each text keeps at least `MIN_CHARS`.

    The earlier conversation is shortened first, and alone if that is enough, because the outputs are what is judged.
    """
    if reading.length <= room:
        return reading
    outputs = sum(map(len, reading.outputs))
    first = replace(reading, context=shortened(reading.context, room - outputs))
    if first.length <= room:
        return first
    share = fair_share([len(reading.context), *map(len, reading.outputs)], room)
    return Reading(shortened(reading.context, share), tuple(shortened(each, share) for each in reading.outputs))


def shortened(text: str, room: int) -> str:
    """Shorten a text to `room` characters, but to no fewer than `MIN_CHARS`."""
    if len(text) <= room:
        return text
    tail = last_lines(text)
    if len(tail) <= room:
        return tail
    ends = first_and_last_paragraph(tail)
    return ends if len(ends) <= room else middle_cut(ends, max(room, MIN_CHARS))


def last_lines(text: str, count: int = MAX_LAST_LINES) -> str:
    lines = text.splitlines()
    if len(lines) <= count:
        return text
    return _shorter("\n".join([f"[… {len(lines) - count} lines before]", *lines[-count:]]), text)


def first_and_last_paragraph(text: str) -> str:
    paragraphs = [each for each in re.split(r"\n\s*\n", text) if each.strip()]
    if len(paragraphs) < 3:
        return text
    return _shorter(f"{paragraphs[0]}\n\n[… {len(paragraphs) - 2} paragraphs]\n\n{paragraphs[-1]}", text)


def middle_cut(text: str, room: int) -> str:
    """Return the beginning and end of a text, `room` characters in all, with a note on its length."""
    if len(text) <= room:
        return text
    note = f"\n[… cut from {len(text):,} characters …]\n"
    if room <= len(note):
        return text[:room]
    head = (room - len(note) + 1) // 2
    tail = room - len(note) - head
    return text[:head] + note + text[len(text) - tail :]


def fair_share(lengths: Sequence[int], room: int) -> int:
    """Return the largest length per text such that all fit; what short texts leave goes to the long ones."""
    for place, length in enumerate(sorted(lengths)):
        share = max(0, room) // (len(lengths) - place)
        if length > share:
            return share
        room -= length
    return max(lengths, default=0)


def _shorter(shorter: str, text: str) -> str:
    return shorter if len(shorter) < len(text) else text
