"""Makes what a judge reads fit: pure functions over texts, in three steps from careful to rough.

A text that fits is left as it is. Else its last lines are kept; else, of those, the first and the last paragraph; else
it is cut in its middle. Each step is at most as long as the one before. Lengths are in characters.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from harness.lazy_dataclass import dataclass

LAST_LINES = 80
LEAST = 200
"""Characters that a text keeps, however little room there is."""


@dataclass(frozen=True, slots=True)
class Reading:
    """What a judge reads besides its instructions: the conversation before, and the outputs in their order."""

    context: str
    outputs: tuple[str, ...]

    @property
    def length(self) -> int:
        return len(self.context) + sum(map(len, self.outputs))


def fitted(reading: Reading, room: int) -> Reading:
    """The reading in `room` characters, or as near to it as can be; it is at most `LEAST` a text above it.

    The conversation before is shortened first, and alone if that is enough: the outputs are what is judged.
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
    """The text in `room` characters, but never cut to fewer than `LEAST`."""
    if len(text) <= room:
        return text
    tail = last_lines(text)
    if len(tail) <= room:
        return tail
    ends = first_and_last_paragraph(tail)
    return ends if len(ends) <= room else middle_cut(ends, max(room, LEAST))


def last_lines(text: str, count: int = LAST_LINES) -> str:
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
    """The beginning and the end, `room` characters in all with the word that says what is missing."""
    if len(text) <= room:
        return text
    note = f"\n[… cut from {len(text):,} characters …]\n"
    if room <= len(note):
        return text[:room]
    head = (room - len(note) + 1) // 2
    tail = room - len(note) - head
    return text[:head] + note + text[len(text) - tail :]


def fair_share(lengths: Sequence[int], room: int) -> int:
    """The most that each may be so that all together fit: what short ones leave is for the long ones."""
    for place, length in enumerate(sorted(lengths)):
        share = max(0, room) // (len(lengths) - place)
        if length > share:
            return share
        room -= length
    return max(lengths, default=0)


def _shorter(shorter: str, text: str) -> str:
    return shorter if len(shorter) < len(text) else text
