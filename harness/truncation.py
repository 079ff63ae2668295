"""Truncation of long text: its ends are kept, with a note on what is missing. Lengths are in characters."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

HEAD_SHARE = 0.6
"""Share of the length limit for the head; the tail gets the rest."""
MAX_LAST_LINES = 80
MIN_CHARS = 200
"""Minimum number of characters that `shorten` keeps of a text."""

_LINE_NEAR = 200

Note = Callable[[int], str]
"""Function that returns the note between the ends for a number of characters that are missing."""


def truncate(text: str, limit: int, note: Note) -> str:
    """Return the head and tail of a text, `limit` characters without the note, cut at near line ends; 0 = unlimited."""
    if limit <= 0 or len(text) <= limit:
        return text
    head = int(limit * HEAD_SHARE)
    return join_ends(text[:head], text[len(text) - (limit - head) :], len(text), note)


def join_ends(head: str, tail: str, length: int, note: Note) -> str:
    """Join the head and tail of a text of this length, each shortened to a line end if one is near.

    Blanks and empty lines are content, so only the last line break of the head is removed.
    """
    end = head.rfind("\n", max(0, len(head) - _LINE_NEAR))
    head = head[: end + 1] if end > 0 else head
    tail = tail[tail.find("\n", 0, _LINE_NEAR) + 1 :]
    return "\n".join((head.removesuffix("\n"), note(length - len(head) - len(tail)), tail))


def cut_middle(text: str, room: int, note: Note) -> str:
    """Return the beginning and end of a text, `room` characters with the note, unless that is longer than the text."""
    kept = max(0, room - len(note(len(text))))
    tail = kept // 2
    return _shortest(text, text[: kept - tail] + note(len(text) - kept) + text[len(text) - tail :])


def limit_lines(text: str, count: int) -> str:
    """Return the first and last lines of a text, `count` in all, with a note on the number removed."""
    lines = text.splitlines()
    gone, tail = len(lines) - count, count // 2
    if gone <= 0:
        return text
    return _shortest(
        text, "\n".join([*lines[: count - tail], f"[... {gone} lines truncated ...]", *lines[len(lines) - tail :]])
    )


def last_lines(text: str, count: int = MAX_LAST_LINES) -> str:
    lines = text.splitlines()
    if len(lines) <= count:
        return text
    return _shortest(text, "\n".join([f"[… {len(lines) - count} lines before]", *lines[-count:]]))


def first_and_last_paragraph(text: str) -> str:
    paragraphs = [each for each in re.split(r"\n\s*\n", text) if each.strip()]
    if len(paragraphs) < 3:
        return text
    return _shortest(text, f"{paragraphs[0]}\n\n[… {len(paragraphs) - 2} paragraphs]\n\n{paragraphs[-1]}")


def shorten(text: str, room: int) -> str:
    """Shorten a text to `room` characters, but to no fewer than `MIN_CHARS`.

    A text that fits is unchanged. Otherwise its last lines are kept; then the first and last paragraph of those; then
    it is cut in the middle. Each step is at most as long as the one before.
    """
    for step in (str, last_lines, first_and_last_paragraph):
        text = step(text)
        if len(text) <= room:
            return text
    return cut_middle(text, max(room, MIN_CHARS), lambda _: f"\n[… cut from {len(text):,} characters …]\n")


def fair_share(lengths: Sequence[int], room: int) -> int:
    """Return the largest length per item such that all fit; what short items leave goes to the long ones."""
    for at, length in enumerate(sorted(lengths)):
        share = max(0, room) // (len(lengths) - at)
        if length > share:
            return share
        room -= length
    return max(lengths, default=0)


def _shortest(text: str, shorter: str) -> str:
    return min(text, shorter, key=len)
