"""Block of lines that differs from the old text only where the edit changes nothing.

Blank lines may be missing or added, and a few lines that the new text keeps may be misremembered: old text, file and
new text are merged as by a three-way merge, so the file keeps its own lines there. Every line that the edit replaces
has to be in the file as the old text gives it. A second block that would nearly do makes the place ambiguous.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher
from itertools import pairwise
from typing import TypeAlias

from msgspec import Struct

from harness.workspace.file_text import FileText
from harness.workspace.hunks import Hunk, Sides, changed_lines
from tools.editing.matching import Hit, TextMatches
from tools.editing.text_view import comparable, line_bounds, line_feeds, typography_of

_MOST_VOTES = 200_000
_MOST_LINES = 2_000
_ALIKE = 0.6
_LINES_PER_DIFFERENCE = 5
_FEWEST_MATCHES = 3
_CLEAR_LEAD = 2

_Gap: TypeAlias = tuple[str, ...]
"""Successive blank lines, which are compared by their number."""


class _Lines(Struct, frozen=True):
    """Lines that are not blank, and the blank lines before each and after the last."""

    written: tuple[str, ...]
    """The lines."""
    compared: tuple[str, ...]
    """The lines as they are compared."""
    gaps: tuple[_Gap, ...]
    """Blank lines."""
    numbers: tuple[int, ...]
    """Line numbers, from 0."""


class _Conflict(Exception):
    """The file and the edit change the same place in different ways."""


def find_anchored(file: FileText, old: str, new: str) -> TextMatches:
    """Return the one block that the edit can only mean, with the merged text."""
    lines, asked, wanted = (_lines(text) for text in (file.text, line_feeds(old), line_feeds(new)))
    count = len(asked.compared)
    if not 0 < count <= min(_MOST_LINES, len(lines.compared)):
        return TextMatches()
    regions = changed_lines(Sides(asked.written, wanted.written))
    touched = [number for region in regions for number in range(region.old_from, region.old_to)]
    matches = _matches(lines.compared, asked.compared)
    blocks = {
        start: matched
        for start, matched in matches.items()
        if 0 <= start <= len(lines.compared) - count
        and all(lines.compared[start + number] == asked.compared[number] for number in touched)
    }
    start = _clear(blocks, count)
    if start is None:
        return TextMatches()
    here = _block(lines, start, count)
    if here.gaps[-1] and old.endswith("\n") != new.endswith("\n"):
        # The line feed may be meant as a blank line.
        return TextMatches()
    differing = [number for number in range(count) if here.compared[number] != asked.compared[number]]
    if differing and not _is_slight(here, asked, differing):
        return TextMatches()
    try:
        merged = list(_merged(asked, here, wanted, regions))
    except _Conflict:
        return TextMatches()
    ignoring = "lines that the edit keeps, which differ" if differing else "blank lines"
    return TextMatches((_hit(file, here, merged),), ignoring, is_certain=True)


def _lines(text: str) -> _Lines:
    written = text.removesuffix("\n").split("\n")
    numbers = [number for number, line in enumerate(written) if line.strip()]
    ends = [-1, *numbers, len(written)]
    return _Lines(
        tuple(written[number] for number in numbers),
        tuple(comparable(written[number]) for number in numbers),
        tuple(tuple(written[before + 1 : following]) for before, following in pairwise(ends)),
        tuple(numbers),
    )


def _block(lines: _Lines, start: int, count: int) -> _Lines:
    end = start + count
    return _Lines(
        lines.written[start:end], lines.compared[start:end], lines.gaps[start : end + 1], lines.numbers[start:end]
    )


def _matches(lines: Sequence[str], asked: Sequence[str]) -> Counter[int]:
    """Return the number of matching lines by the first line of the block; empty if it takes too long to count."""
    places: defaultdict[str, list[int]] = defaultdict(list)
    for number, line in enumerate(lines):
        places[line].append(number)
    votes: Counter[int] = Counter()
    if sum(len(places.get(line, ())) for line in asked) <= _MOST_VOTES:
        for offset, line in enumerate(asked):
            votes.update(number - offset for number in places.get(line, ()))
    return votes


def _clear(blocks: dict[int, int], count: int) -> int | None:
    """Return the block with the most matching lines, if no other comes near; of those with all lines, the only one."""
    best = sorted(blocks, key=lambda start: blocks[start], reverse=True)[:2]
    if not best:
        return None
    lead = blocks[best[0]] - (blocks[best[1]] if len(best) > 1 else -count)
    return best[0] if lead >= (1 if blocks[best[0]] == count else _CLEAR_LEAD) else None


def _is_slight(here: _Lines, asked: _Lines, differing: Sequence[int]) -> bool:
    """Return True if few lines differ, by little, and enough others match to make the block certain."""
    count = len(asked.compared)
    certain = sum(any(char.isalnum() for char in asked.compared[number]) for number in range(count))
    if certain - len(differing) < _FEWEST_MATCHES or len(differing) > max(1, count // _LINES_PER_DIFFERENCE):
        return False
    return all(
        SequenceMatcher(None, here.compared[number].strip(), asked.compared[number].strip()).ratio() >= _ALIKE
        for number in differing
    )


def _merged(asked: _Lines, here: _Lines, wanted: _Lines, regions: Sequence[Hunk]) -> Iterator[str]:
    """Return the lines of the block with the edit applied.

    Raises:
        _Conflict: The edit changes lines or blank lines where the file has others than the old text.
    """
    _check_regions(asked, here, wanted, regions)
    typography = typography_of(here.written, asked.written)
    before: _Source | None = None
    if asked.gaps[0] and wanted.gaps[0] and here.numbers[0] == 0 and regions and regions[0].old_from == 0:
        # The blank line before a replaced first line was either added to both texts by mistake, or is new.
        raise _Conflict
    for number, source in enumerate(_sources(regions, len(asked.written))):
        texts = (asked, here, wanted)
        yield from _border(texts, 0) if before is None else _gap(texts, before, source, number)
        yield here.written[source.first] if source.is_kept else wanted.written[number].translate(typography)
        before = source
    if before is not None:
        yield from _border((asked, here, wanted), -1)


def _check_regions(asked: _Lines, here: _Lines, wanted: _Lines, regions: Sequence[Hunk]) -> None:
    """Check that inserted and removed lines have one place, although they could be moved past equal lines.

    Raises:
        _Conflict: Where they may be moved to, the file differs from the old text.
    """
    old = asked.written
    for region in regions:
        removed = old[region.old_from : region.old_to]
        lines = removed or wanted.written[region.new_from : region.new_to]
        if removed and region.new_to > region.new_from:
            continue
        first, last = region.old_from, region.old_to
        while first > 0 and old[first - 1] == lines[(first - 1 - region.old_from) % len(lines)]:
            first -= 1
        while last < len(old) and old[last] == lines[(last - region.old_to) % len(lines)]:
            last += 1
        gaps = range(max(1, first), min(len(old) - 1, last) + 1)
        differs = any(len(here.gaps[gap]) != len(asked.gaps[gap]) for gap in gaps)
        if differs or here.compared[first:last] != asked.compared[first:last]:
            raise _Conflict


class _Source(Struct, frozen=True):
    """Old lines that a new line comes from: one that is kept or replaced, or all of the region it belongs to."""

    is_kept: bool
    first: int
    end: int


def _sources(regions: Sequence[Hunk], count: int) -> Iterator[_Source]:
    done = 0
    for region in (*regions, Hunk(count, count, 0, 0)):
        yield from (_Source(is_kept=True, first=place, end=place + 1) for place in range(done, region.old_from))
        size = region.new_to - region.new_from
        is_by_line = size == region.old_to - region.old_from
        for place in range(region.old_from, region.old_from + size):
            yield (
                _Source(is_kept=False, first=place, end=place + 1)
                if is_by_line
                else _Source(is_kept=False, first=region.old_from, end=region.old_to)
            )
        done = region.old_to


def _border(texts: tuple[_Lines, _Lines, _Lines], side: int) -> _Gap:
    """Return the blank lines that the edit adds before or after the block; those of the file stay."""
    asked, here, wanted = (lines.gaps[side] for lines in texts)
    if len(wanted) < len(asked) and here:
        raise _Conflict
    return wanted[len(asked) :]


def _gap(texts: tuple[_Lines, _Lines, _Lines], before: _Source, after: _Source, number: int) -> _Gap:
    """Return the blank lines between two new lines, of which the second has that number.

    They are those of the file where the edit does not change them, and those of the edit where the file is as it was.
    """
    asked, here, wanted = (lines.gaps for lines in texts)
    new = wanted[number]
    if before.end == after.first and before.first < before.end and after.first < after.end:
        old, actual = asked[after.first], here[after.first]
        if new == old or len(new) == len(actual) != len(old):
            return actual
        if len(actual) != len(old):
            raise _Conflict
    elif before == after and any(len(asked[gap]) != len(here[gap]) for gap in range(before.first + 1, before.end)):
        # Lines are replaced by more or fewer, so it is unknown where the blank lines of the file belong.
        raise _Conflict
    return new


def _hit(file: FileText, here: _Lines, merged: Sequence[str]) -> Hit:
    bounds = line_bounds(file.text)
    start, end = bounds[here.numbers[0]][0], bounds[here.numbers[-1]][1]
    if not merged:
        end = min(end + 1, len(file.text))
    return Hit(start, end, "\n".join(merged))
