"""Edits of a file's text, all or none, with the reason for the model if one cannot be applied."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from itertools import accumulate

from msgspec import Struct
from msgspec.structs import replace

from harness.views import DiffView
from harness.workspace.file_text import FileText, Splice, difference, occurrences
from harness.workspace.hunks import Hunk, hunks_of, lines_of
from tools.edit_matching import Hit, TextMatches, find, nearest_block

_NUMBERED = re.compile(r"^ *\d+(?:\t|→)", re.MULTILINE)
_LISTED = 20
_SHOWN_LINES = 30
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


def apply_edits(file: FileText, edits: Sequence[Edit]) -> AppliedEdits | RejectedEdits:
    """Apply the edits in order, each to the result of the previous one."""
    regions: list[tuple[int, int]] = []
    notes: list[str] = []
    places = 0
    for number, edit in enumerate(edits, 1):
        name = "old_string" if len(edits) == 1 else f"old_string of edit {number}"
        found = _place(file, edit, name)
        if isinstance(found, RejectedEdits):
            return found
        hits = found.hits
        regions = _moved(regions, hits)
        places += len(hits)
        if found.ignoring:
            notes.append(f"{name} matched ignoring {found.ignoring}")
        file = file.spliced([splice for hit in hits for splice in _splices(file, hit)])
    return AppliedEdits(file, _line_ranges(file.text, regions), places, tuple(notes))


def _place(file: FileText, edit: Edit, name: str) -> TextMatches | RejectedEdits:
    if not edit.old:
        return _whole(file, edit, name)
    edit = replace(edit, new=file.normalized(edit.new))
    if edit.old == edit.new:
        return RejectedEdits(f"{name} and its new text are identical, so there is nothing to change.")
    found = find(file, edit.old, edit.new)
    if not found.hits and (bare := _without_numbers(edit)) is not None:
        found = find(file, bare.old, bare.new)
        ignoring = " and ".join(part for part in ("copied line numbers", found.ignoring) if part)
        found = replace(found, ignoring=ignoring)
    if not found.hits:
        return RejectedEdits(_missed(file, edit, name))
    lines = _ambiguous(file, found)
    if len(lines) > 1 and not edit.replace_all:
        return RejectedEdits(_several(lines, name))
    return found


def _whole(file: FileText, edit: Edit, name: str) -> TextMatches | RejectedEdits:
    if file.text:
        return RejectedEdits(
            f"{name} is empty, but the file is not. Give the text to replace; to insert, give a line near the place as "
            "old_string and repeat it in new_string."
        )
    return TextMatches((Hit(0, 0, edit.new),))


def _without_numbers(edit: Edit) -> Edit | None:
    """Return the edit without line numbers copied from read_file's output."""
    lines = edit.old.rstrip("\n").split("\n")
    if not all(_NUMBERED.match(line) for line in lines):
        return None
    return replace(edit, old=_NUMBERED.sub("", edit.old), new=_NUMBERED.sub("", edit.new))


def _ambiguous(file: FileText, found: TextMatches) -> list[int]:
    """Return the lines of all hits, including a second one that overlaps a single hit."""
    starts = [hit.start for hit in found.hits]
    if len(starts) == 1:
        hit = found.hits[0]
        overlapping = file.text.find(file.text[hit.start : hit.end], hit.start + 1)
        starts += [overlapping] if overlapping >= 0 else []
    line_ends = occurrences(file.text, "\n")
    return [bisect_left(line_ends, start) + 1 for start in starts]


def _several(lines: Sequence[int], name: str) -> str:
    listed = ", ".join(str(line) for line in lines[:_LISTED]) + (", …" if len(lines) > _LISTED else "")
    return (
        f"{name} occurs {len(lines)} times, at lines {listed}. Add lines around it until it is unique, or set "
        "replace_all. Nothing was changed."
    )


def _missed(file: FileText, edit: Edit, name: str) -> str:
    parts = [f"{name} is not in the file. Nothing was changed."]
    made = find(file, edit.new, edit.new).hits if len(edit.new.strip()) >= _SIGNIFICANT_CHARS else ()
    if made:
        line = file.text.count("\n", 0, made[0].start) + 1
        parts.append(f"Its new text is already there, at line {line}: this edit seems to have been applied already.")
    near = nearest_block(file.text, edit.old)
    if near is not None:
        last = near.first + len(near.lines) - 1
        shown = [f"{near.first + n}\t{line[:500]}" for n, line in enumerate(near.lines[:_SHOWN_LINES])]
        where = f"lines {near.first}–{last}" if len(near.lines) > 1 else f"line {near.first}"
        parts.append(f"The nearest place is {where}; {near.reason}:\n" + "\n".join(shown))
    elif not made:
        parts.append("Nothing in the file is similar. Read the file again, or search for the text with grep.")
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
    line_ends = occurrences(text, "\n")
    for start, end in regions:
        # A region that ends with a line feed does not extend into the next line.
        last = max(start, end - 1) if text[max(end - 1, 0) : end] == "\n" else end
        lines = (bisect_left(line_ends, start) + 1, bisect_left(line_ends, last) + 1)
        if ranges and lines[0] <= ranges[-1][1] + 1:
            ranges[-1] = (ranges[-1][0], max(lines[1], ranges[-1][1]))
        else:
            ranges.append(lines)
    return tuple(ranges)


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
