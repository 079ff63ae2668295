"""Application of the hunks of a patch to a file, with the strategies of `edit_file`.

Each hunk has to have one place. Its line number, the lines named by `@@`, and the order of the hunks decide between
several; they never replace the context, which has to match.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from functools import partial
from itertools import islice

from msgspec import Struct
from msgspec.structs import replace

from harness.workspace.file_text import FileText, line_numbers
from tools.editing.edits import (
    AppliedEdits,
    Edit,
    Replacements,
    explain_miss,
    find_place,
    lines_of_hits,
    listed,
)
from tools.editing.indentation import indent_of
from tools.editing.matching import Hit, TextMatches
from tools.editing.text_view import line_bounds
from tools.patch.patch import FilePatch, PatchError, PatchHunk


class _Progress(Struct):
    """Hunks applied so far."""

    replacements: Replacements
    cursor: int = 0
    """End of the last hunk."""
    drift: int = 0
    """Lines that the hunks added."""


def apply_hunks(file: FileText, patch: FilePatch) -> AppliedEdits:
    """Apply the hunks in order.

    Raises:
        PatchError: A hunk has no place, or more than one.
    """
    progress = _Progress(Replacements(file))
    for hunk in patch.hunks:
        before = progress.replacements.file.text
        found = _place(progress, hunk)
        hit = found.hits[0]
        progress.replacements.make(found, f"the hunk at line {hunk.line} of the patch")
        progress.cursor = hit.start + len(hit.new)
        progress.drift += hit.new.count("\n") - before.count("\n", hit.start, hit.end)
    return progress.replacements.result()


def _place(progress: _Progress, hunk: PatchHunk) -> TextMatches:
    file, name = progress.replacements.file, f"the context of the hunk at line {hunk.line} of the patch"
    if not hunk.old:
        return TextMatches((_addition(file, hunk),))
    edit = _edit(file, hunk)
    if edit.old == edit.new:
        raise PatchError(f"the hunk at line {hunk.line} of the patch changes nothing")
    found = find_place(file, edit.old, edit.new, accepts=partial(_is_whole_lines, file.text))
    if not found.hits:
        raise PatchError(explain_miss(file, edit, name, found.problem))
    lines = lines_of_hits(file, found)
    if len(lines) == 1:
        return found
    hits = _likely(progress, hunk, [hit for hit in found.hits if not hunk.is_at_end or hit.end >= len(file.text) - 1])
    if len(hits) != 1:
        raise PatchError(
            f"{name} occurs {len(lines)} times, at lines {listed(lines)}. Give more context lines, or @@ lines "
            "with the class or function it is in"
        )
    return replace(found, hits=tuple(hits))


def _addition(file: FileText, hunk: PatchHunk) -> Hit:
    """Return the hit for added lines without context, which belong at the end of the file."""
    if hunk.anchors or (hunk.start and file.text):
        raise PatchError(
            f"the hunk at line {hunk.line} of the patch has no context, so its place is unknown: give lines around it"
        )
    text = "".join(f"{line}\n" for line in hunk.new)
    end = len(file.text)
    return Hit(end, end, f"\n{text}" if file.text and not file.text.endswith("\n") else text)


def _edit(file: FileText, hunk: PatchHunk) -> Edit:
    """Return the hunk as old and new text; with a last line feed where it matters."""
    old, new = "\n".join(hunk.old), "\n".join(hunk.new)
    if hunk.new and hunk.new_is_open != hunk.old_is_open:
        return Edit(f"{old}\n", new) if hunk.new_is_open else Edit(old, f"{new}\n")
    is_last = hunk.old_is_open or (hunk.is_at_end and not file.text.endswith("\n"))
    if not old.strip() and new:
        return Edit(f"{old}\n", f"{new}\n")
    return Edit(old, new) if hunk.new or is_last else Edit(f"{old}\n", "")


def _is_whole_lines(text: str, hit: Hit) -> bool:
    starts_line = hit.start == 0 or text[hit.start - 1] == "\n"
    ends_line = hit.end == len(text) or text[hit.end] == "\n" or text[hit.end - 1] == "\n"
    return starts_line and ends_line


def _likely(progress: _Progress, hunk: PatchHunk, hits: Sequence[Hit]) -> list[Hit]:
    """Return the hits that the line number of the hunk, its anchors or the order of the hunks point to."""
    text = progress.replacements.file.text
    if hunk.start:
        lines = line_numbers(text, (hit.start for hit in hits))
        exact = [hit for hit, line in zip(hits, lines, strict=True) if line == hunk.start + progress.drift]
        if exact:
            return exact
    later = [hit for hit in hits if hit.start >= progress.cursor]
    return _anchored(text, hunk.anchors, later, progress.cursor) if hunk.anchors else later


def _anchored(text: str, anchors: Sequence[str], hits: Sequence[Hit], cursor: int) -> list[Hit]:
    """Return the first hit after each place of the anchors, if it is indented deeper than they are."""
    lines = text.split("\n")
    starts = [start for start, _ in line_bounds(text)]
    begin = bisect_left(starts, cursor)
    places = [number for number in range(begin, len(lines)) if lines[number].strip() == anchors[0].strip()]
    for anchor in anchors[1:]:
        places = [place for before in places for place in _next(lines, anchor, before + 1)]
    found: dict[int, Hit] = {}
    for place in places:
        following = next((hit for hit in hits if hit.start > starts[place]), None)
        if following is None:
            continue
        between = lines[place + 1 : bisect_left(starts, following.start)]
        depth = len(indent_of(lines[place]).expandtabs(4))
        if all(len(indent_of(line).expandtabs(4)) > depth for line in between if line.strip()):
            found[following.start] = following
    return list(found.values())


def _next(lines: Sequence[str], anchor: str, start: int) -> list[int]:
    found = (number for number in range(start, len(lines)) if lines[number].strip() == anchor.strip())
    return list(islice(found, 1))
