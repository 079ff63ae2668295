"""Hunks: the differences between two texts, and the result of applying some of them.

Fast on long files: common ends are trimmed, unique lines anchor the middle, and only small gaps between anchors are
compared line by line.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Container, Iterator, Sequence
from difflib import SequenceMatcher

from msgspec import Struct

from harness.views import DiffView

SMALL_GAP = 65_536
NEAR = 1
"""Maximum number of unchanged lines between two changes that form one hunk."""


class Hunk(Struct, frozen=True):
    """Replacement of old lines by new ones. Line numbers count from 0, ends are exclusive."""

    old_from: int
    """First old line."""
    old_to: int
    """End of the old lines."""
    new_from: int
    """First new line."""
    new_to: int
    """End of the new lines."""


class Sides(Struct, frozen=True):
    """The two texts of a view, as lines with their line endings."""

    old: Sequence[str]
    new: Sequence[str]

    @classmethod
    def of(cls, view: DiffView) -> Sides:
        texts = [view.old or "", view.new or ""]
        # If both sides use CRLF throughout, showing it on each line would be noise.
        if all(text.count("\n") == text.count("\r\n") for text in texts):
            texts = [text.replace("\r\n", "\n") for text in texts]
        return cls(lines_of(texts[0]), lines_of(texts[1]))


def hunks_of(view: DiffView) -> list[Hunk]:
    """Return the hunks of a change, which the user can accept or reject. Creating or deleting a file is one hunk."""
    sides = Sides.of(view)
    if view.old is None or view.new is None:
        return [Hunk(0, len(sides.old), 0, len(sides.new))]
    hunks: list[Hunk] = []
    for hunk in changed_lines(sides):
        if hunks and hunk.old_from - hunks[-1].old_to <= NEAR:
            hunk = Hunk(hunks[-1].old_from, hunk.old_to, hunks.pop().new_from, hunk.new_to)
        hunks.append(hunk)
    return hunks


def applied(view: DiffView, taken: Container[int]) -> str | None:
    """Return the file's text with only these hunks of `hunks_of` applied; None if the file does not exist."""
    if view.old is None or view.new is None:
        return view.new if 0 in taken else view.old
    old, new = lines_of(view.old), lines_of(view.new)
    pieces: list[str] = []
    done = 0
    for number, hunk in enumerate(hunks_of(view)):
        pieces += old[done : hunk.old_from]
        pieces += new[hunk.new_from : hunk.new_to] if number in taken else old[hunk.old_from : hunk.old_to]
        done = hunk.old_to
    return "".join([*pieces, *old[done:]])


def changed_lines(sides: Sides) -> list[Hunk]:
    """Return the differences between the two sides, in order."""
    return list(_compare(sides, Hunk(0, len(sides.old), 0, len(sides.new))))


def lines_of(text: str) -> list[str]:
    """Split a text into lines that keep their line feed; no other character ends a line."""
    lines = [f"{line}\n" for line in text.split("\n")]
    lines[-1] = lines[-1][:-1]
    return lines if lines[-1] else lines[:-1]


def _compare(sides: Sides, part: Hunk) -> Iterator[Hunk]:
    part = _trimmed(sides, part)
    old_size, new_size = part.old_to - part.old_from, part.new_to - part.new_from
    if not old_size and not new_size:
        return
    if not old_size or not new_size:
        yield part
    elif old_size * new_size <= SMALL_GAP:
        yield from _compare_closely(sides, part)
    else:
        anchors = _anchors(sides, part)
        if not anchors:
            yield part
            return
        old_from, new_from = part.old_from, part.new_from
        for old_at, new_at in [*anchors, (part.old_to, part.new_to)]:
            yield from _compare(sides, Hunk(old_from, old_at, new_from, new_at))
            old_from, new_from = old_at + 1, new_at + 1


def _trimmed(sides: Sides, part: Hunk) -> Hunk:
    old_from, old_to, new_from, new_to = part.old_from, part.old_to, part.new_from, part.new_to
    while old_from < old_to and new_from < new_to and sides.old[old_from] == sides.new[new_from]:
        old_from, new_from = old_from + 1, new_from + 1
    while old_from < old_to and new_from < new_to and sides.old[old_to - 1] == sides.new[new_to - 1]:
        old_to, new_to = old_to - 1, new_to - 1
    return Hunk(old_from, old_to, new_from, new_to)


def _compare_closely(sides: Sides, part: Hunk) -> Iterator[Hunk]:
    old, new = sides.old[part.old_from : part.old_to], sides.new[part.new_from : part.new_to]
    for tag, old_from, old_to, new_from, new_to in SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        if tag != "equal":
            yield Hunk(
                part.old_from + old_from, part.old_from + old_to, part.new_from + new_from, part.new_from + new_to
            )


def _anchors(sides: Sides, part: Hunk) -> list[tuple[int, int]]:
    """Return lines that occur once on each side, in the longest common order."""
    old, new = sides.old[part.old_from : part.old_to], sides.new[part.new_from : part.new_to]
    old_counts, new_counts = Counter(old), Counter(new)
    places = {line: index for index, line in enumerate(new) if new_counts[line] == 1}
    pairs = [(index, places[line]) for index, line in enumerate(old) if old_counts[line] == 1 and line in places]
    return [(part.old_from + old_at, part.new_from + new_at) for old_at, new_at in _longest_rising(pairs)]


def _longest_rising(pairs: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    ends: list[int] = []
    end_indices: list[int] = []
    previous: list[int] = []
    for index, (_, value) in enumerate(pairs):
        place = bisect_left(ends, value)
        previous.append(end_indices[place - 1] if place else -1)
        ends[place : place + 1] = [value]
        end_indices[place : place + 1] = [index]
    chain: list[tuple[int, int]] = []
    at = end_indices[-1] if end_indices else -1
    while at >= 0:
        chain.append(pairs[at])
        at = previous[at]
    return chain[::-1]
