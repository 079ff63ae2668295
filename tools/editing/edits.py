"""Edits of a file's text, all or none, with the reason for the model if one cannot be applied."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Sequence
from itertools import accumulate, chain

from msgspec import Struct
from msgspec.structs import replace

from harness.views import DiffView
from harness.workspace.file_text import FileText, Splice, difference, line_numbers
from harness.workspace.hunks import Hunk, hunks_of, lines_of
from tools.editing.anchored import find_anchored
from tools.editing.elided import find_elided, has_placeholder
from tools.editing.matching import Hit, TextMatches, find
from tools.editing.nearest import nearest_block
from tools.editing.readings import readings

_LISTED = 20
_LISTED_REGIONS = 10
_SIGNIFICANT_CHARS = 8


class Edit(Struct, frozen=True):
    old: str
    new: str
    replace_all: bool = False


class AppliedEdits(Struct, frozen=True):
    """Result of successful edits."""

    file: FileText
    """The file with its new text."""

    regions: tuple[tuple[int, int], ...]
    """New line ranges, first and last line."""

    places: int
    """Number of replaced places."""

    notes: tuple[str, ...]
    """Differences that were ignored to find a place."""


class RejectedEdits(Struct, frozen=True):
    """Reason why nothing was changed, and what to do."""

    reason: str


class Replacements:
    """Replacements in a file, made one after the other."""

    def __init__(self, file: FileText) -> None:
        self.file = file
        """The file with all replacements so far."""
        self._regions: list[tuple[int, int]] = []
        self._notes: list[str] = []
        self._places = 0

    def make(self, found: TextMatches, name: str) -> None:
        """Replace all hits; `name` is that of the text they match, for the note."""
        hits = found.hits
        self._regions = _moved(self._regions, hits)
        self._places += len(hits)
        if found.ignoring:
            self._notes.append(f"{name} matched ignoring {found.ignoring}")
        self.file = self.file.spliced([splice for hit in hits for splice in _splices(self.file, hit)])

    def result(self) -> AppliedEdits:
        return AppliedEdits(self.file, _line_ranges(self.file.text, self._regions), self._places, tuple(self._notes))


def apply_edits(file: FileText, edits: Sequence[Edit]) -> AppliedEdits | RejectedEdits:
    """Apply the edits in order, each to the result of the previous one."""
    replacements = Replacements(file)
    for number, edit in enumerate(edits, 1):
        name = "old_string" if len(edits) == 1 else f"old_string of edit {number}"
        found = _place(replacements.file, edit, name)
        if isinstance(found, RejectedEdits):
            return found
        replacements.make(found, name)
    return replacements.result()


def _place(file: FileText, edit: Edit, name: str) -> TextMatches | RejectedEdits:
    if not edit.old:
        return _whole(file, edit, name)
    edit = replace(edit, new=file.normalized(edit.new))
    if edit.old == edit.new:
        return RejectedEdits(f"{name} and its new text are identical, so there is nothing to change.")
    if has_placeholder(edit.old, edit.new):
        return RejectedEdits(
            "The new text has a comment in place of existing code, which would be lost. Give all of the new text, or "
            "the same comment in old_string for the lines to keep. Nothing was changed."
        )
    found = find_place(file, edit.old, edit.new)
    if not found.hits:
        return RejectedEdits(explain_miss(file, edit, name, found.problem))
    lines = lines_of_hits(file, found)
    if len(lines) > 1 and not edit.replace_all:
        return RejectedEdits(_several(lines, name))
    return found


def find_place(file: FileText, old: str, new: str, *, accepts: Callable[[Hit], bool] = lambda _: True) -> TextMatches:
    """Return the places for an edit from the strictest reading of it that matches anything."""
    found = find(file, old, new, accepts=accepts)
    if found.hits:
        return found
    for damage, (read_old, read_new) in readings((old, new)):
        found = find(file, read_old, read_new, accepts=accepts)
        if found.hits:
            return replace(found, ignoring=" and ".join(part for part in (damage, found.ignoring) if part))
    elided = find_elided(file, old, new)
    return elided if elided.hits or elided.problem else find_anchored(file, old, new)


def _whole(file: FileText, edit: Edit, name: str) -> TextMatches | RejectedEdits:
    if file.text:
        return RejectedEdits(
            f"{name} is empty, but the file is not. Give the text to replace; to insert, give a line near the place as "
            "old_string and repeat it in new_string."
        )
    return TextMatches((Hit(0, 0, edit.new),))


def lines_of_hits(file: FileText, found: TextMatches) -> list[int]:
    """Return the lines of all hits, from 1, including a second one that overlaps a single hit."""
    starts = [hit.start for hit in found.hits]
    if len(starts) == 1 and not found.is_certain:
        hit = found.hits[0]
        overlapping = file.text.find(file.text[hit.start : hit.end], hit.start + 1)
        starts += [overlapping] if overlapping >= 0 else []
    return line_numbers(file.text, starts)


def _several(lines: Sequence[int], name: str) -> str:
    return (
        f"{name} occurs {len(lines)} times, at lines {listed(lines)}. Add lines around it until it is unique, or set "
        "replace_all. Nothing was changed."
    )


def listed(lines: Sequence[int]) -> str:
    """Return line numbers for display."""
    return ", ".join(str(line) for line in lines[:_LISTED]) + (", …" if len(lines) > _LISTED else "")


def explain_miss(file: FileText, edit: Edit, name: str, problem: str = "") -> str:
    """Return why an edit's old text was not found, with the nearest place."""
    because = f": {problem}" if problem else ""
    parts = [f"{name} is not in the file{because}. Nothing was changed."]
    made = find(file, edit.new, edit.new).hits if len(edit.new.strip()) >= _SIGNIFICANT_CHARS else ()
    if made:
        line = file.text.count("\n", 0, made[0].start) + 1
        parts.append(f"Its new text is already there, at line {line}: this edit seems to have been applied already.")
    near = nearest_block(file.text, edit.old)
    if near is not None:
        last = near.first + len(near.lines) - 1
        where = f"lines {near.first}–{last}" if len(near.lines) > 1 else f"line {near.first}"
        parts.append(f"The nearest place is {where}; {near.reason}:\n{near.difference}")
    elif not made:
        parts.append("Nothing in the file is similar. Read the file again, or search for the text.")
    return "\n".join(parts)


def _splices(file: FileText, hit: Hit) -> list[Splice]:
    """Return minimal splices, so that line endings inside the span stay as they are."""
    old, new = file.text[hit.start : hit.end], hit.new
    one = difference(old, new)
    inside = old[one.start : one.end]
    if file.newline != "mixed" or inside.count("\n") != one.text.count("\n"):
        return [Splice(hit.start + one.start, hit.start + one.end, one.text)]
    splices: list[Splice] = []
    at = hit.start + one.start
    for before, after in zip(inside.split("\n"), one.text.split("\n"), strict=True):
        if before != after:
            splices.append(Splice(at, at + len(before), after))
        at += len(before) + 1
    return splices


def _moved(regions: Sequence[tuple[int, int]], hits: Sequence[Hit]) -> list[tuple[int, int]]:
    """Return the regions after the hits were replaced, including the new ones."""
    starts, ends = [hit.start for hit in hits], [hit.end for hit in hits]
    kept = [
        (start, end)
        for start, end in regions
        if not ((hit := bisect_right(starts, start) - 1) >= 0 and end <= ends[hit])
    ]
    grown = [0, *accumulate(len(hit.new) - (hit.end - hit.start) for hit in hits)]
    moved = [(start + grown[bisect_right(ends, start)], end + grown[bisect_right(ends, end)]) for start, end in kept]
    new = [(hit.start + shift, hit.start + shift + len(hit.new)) for hit, shift in zip(hits, grown, strict=False)]
    return sorted(moved + new)


def _line_ranges(text: str, regions: Sequence[tuple[int, int]]) -> tuple[tuple[int, int], ...]:
    ranges: list[tuple[int, int]] = []
    # A region that ends with a line feed does not extend into the next line.
    bounds = ((start, max(start, end - (text[max(end - 1, 0) : end] == "\n"))) for start, end in regions)
    numbers = line_numbers(text, chain.from_iterable(bounds))
    for lines in zip(numbers[::2], numbers[1::2], strict=True):
        if ranges and lines[0] <= ranges[-1][1] + 1:
            ranges[-1] = (ranges[-1][0], max(lines[1], ranges[-1][1]))
        else:
            ranges.append(lines)
    return tuple(ranges)


def described_lines(regions: Sequence[tuple[int, int]]) -> str:
    """Return line ranges for display."""
    lines = ", ".join(f"{first}–{last}" if first != last else f"{first}" for first, last in regions[:_LISTED_REGIONS])
    noun = "line" if len(regions) == 1 and regions[0][0] == regions[0][1] else "lines"
    more = f" and {len(regions) - _LISTED_REGIONS} more" if len(regions) > _LISTED_REGIONS else ""
    return f"{noun} {lines}{more}"


def edits_for(view: DiffView, text: str) -> list[Edit]:
    """Return edits that turn the file into `text`, from the end to the beginning so that positions above stay valid."""
    lines, wanted = lines_of(view.old or ""), lines_of(text)
    edits: list[Edit] = []
    for hunk in reversed(hunks_of(replace(view, old=view.old or "", new=text))):
        first, last = _unique(lines, hunk)
        new = [*lines[first : hunk.old_from], *wanted[hunk.new_from : hunk.new_to], *lines[hunk.old_to : last]]
        edits.append(Edit("".join(lines[first:last]), "".join(new)))
        lines[first:last] = new
    return edits


def _unique(lines: list[str], hunk: Hunk) -> tuple[int, int]:
    """Return a hunk with as many lines around it as make it unique."""
    first, last = hunk.old_from, hunk.old_to
    whole = "".join(lines)
    while first > 0 or last < len(lines):
        part = "".join(lines[first:last])
        if part and whole.find(part) == whole.rfind(part):
            break
        first, last = max(0, first - 1), min(len(lines), last + 1)
    return first, last
