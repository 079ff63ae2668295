"""The edits that make one text of another, each found at one place only."""

from __future__ import annotations

from dataclasses import replace

from harness.views import DiffView
from harness.workspace.hunks import Hunk, hunks_of, lines_of
from tools.text.edits import Edit


def edits_for(view: DiffView, text: str) -> list[Edit]:
    """Edits that turn the file as it is into `text`, from the end to the beginning: what is above stays where it is."""
    lines, wanted = lines_of(view.old or ""), lines_of(text)
    edits: list[Edit] = []
    for hunk in reversed(hunks_of(replace(view, old=view.old or "", new=text))):
        first, last = _unique(lines, hunk)
        new = [
            *lines[first : hunk.old_from],
            *wanted[hunk.new_from : hunk.new_to],
            *lines[hunk.old_to : last],
        ]
        edits.append(Edit("".join(lines[first:last]), "".join(new)))
        lines[first:last] = new
    return edits


def _unique(lines: list[str], hunk: Hunk) -> tuple[int, int]:
    """As many lines around a hunk as it takes to be found nowhere else."""
    first, last = hunk.old_from, hunk.old_to
    whole = "".join(lines)
    while not _is_unique(whole, "".join(lines[first:last])):
        if first == 0 and last == len(lines):
            break
        first, last = max(0, first - 1), min(len(lines), last + 1)
    return first, last


def _is_unique(whole: str, part: str) -> bool:
    at = whole.find(part)
    return bool(part) and whole.find(part, at + 1) < 0
