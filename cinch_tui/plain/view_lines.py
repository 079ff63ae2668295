"""Tool results as plain lines."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import assert_never

from cinch_tui.rendering.safe_text import plain_output
from harness.views import DiffView, ImageView, ListingView, TerminalView, TextView, TodoView, View
from harness.workspace.hunks import Hunk, Sides, hunks_of

MAX_LINES = 12
"""Lines of a result that are printed; the model receives all."""
CONTEXT = 2
_FENCES = re.compile(r"^```\w*\n?", re.MULTILINE)
_MARKED_VALUE = re.compile(r"^(- [\w ]+: )`([^`\n]*)`$", re.MULTILINE)
_TABLE = re.compile(r"^\|.*\|\n\|(?: -+ \|)+\n(?:\|.*\|(?:\n|\Z))*", re.MULTILINE)
_CELL_BORDER = re.compile(r"(?<!\\)\|")
_ESCAPED = re.compile(r"\\([\\`*_\[\]<>|])")
STATES = {"pending": "to do", "in_progress": "now", "completed": "done"}


def view_lines(view: View) -> list[str]:
    """Return all lines of a view."""
    match view:
        case TextView(text):
            return _lines(text)
        case DiffView():
            notes = "\n".join(filter(None, (view.notes, view.problems)))
            return [*diff_lines(view), *(_lines(notes) if notes else ())]
        case TerminalView(command, output):
            return _lines(output or command)
        case ListingView(title, entries, total):
            more = [f"and {total - len(entries)} more"] if total > len(entries) else []
            return [f"{title}: {total}" if title else str(total), *(plain_output(entry) for entry in entries), *more]
        case TodoView(items):
            return [f"{STATES[item.status]}: {plain_output(item.content)}" for item in items]
        case ImageView(path, _, width, height):
            return [f"image {path}" + (f", {width} by {height} pixels" if width else "")]
        case _:
            assert_never(view)


def diff_lines(view: DiffView) -> list[str]:
    """Return a diff hunk by hunk: a description, then removed lines with `-` and added lines with `+`."""
    sides = Sides.of(view)
    if view.old is None:
        return [f"New file {view.path}, {line_count(sides.new)}", *_marked("+", sides.new)]
    if view.new is None:
        return [f"Deleted file {view.path}, {line_count(sides.old)}"]
    hunks = hunks_of(view)
    lines: list[str] = []
    for number, hunk in enumerate(hunks, 1):
        which = f"Change {number} of {len(hunks)}: " if len(hunks) > 1 else ""
        lines.append(which + describe_hunk(hunk))
        lines += _marked(" ", sides.old[max(0, hunk.old_from - CONTEXT) : hunk.old_from])
        lines += _marked("-", sides.old[hunk.old_from : hunk.old_to])
        lines += _marked("+", sides.new[hunk.new_from : hunk.new_to])
        lines += _marked(" ", sides.old[hunk.old_to : hunk.old_to + CONTEXT])
    return lines


def describe_hunk(hunk: Hunk) -> str:
    if hunk.old_from == hunk.old_to:
        return f"Added {_places(hunk.new_from, hunk.new_to)}"
    if hunk.new_from == hunk.new_to:
        return f"Removed {_places(hunk.old_from, hunk.old_to)}"
    before, after = _places(hunk.old_from, hunk.old_to), _places(hunk.new_from, hunk.new_to)
    return f"Changed {before}" if before == after else f"Changed {before} into {after}"


def shorten(lines: Sequence[str], most: int = MAX_LINES) -> list[str]:
    """Return the beginning and the end of long output."""
    if len(lines) <= most + 1:
        return list(lines)
    first = most // 2
    return [*lines[:first], f"[{len(lines) - most} more lines]", *lines[len(lines) - (most - first) :]]


def strip_markdown(report: str) -> str:
    """Return a report without its Markdown markup; each row of a table is a line that names its columns."""
    text = _TABLE.sub(_table_lines, _FENCES.sub("", report).rstrip("\n"))
    return _MARKED_VALUE.sub(r"\1\2", text)


def _table_lines(table: re.Match[str]) -> str:
    head, _, *rows = [_CELL_BORDER.split(line.strip()[1:-1]) for line in table[0].splitlines()]
    return "".join(f"{_row(head, cells)}\n" for cells in rows)


def _row(head: Sequence[str], cells: Sequence[str]) -> str:
    texts = (_ESCAPED.sub(r"\1", cell).strip().strip("`").strip() for cell in cells)
    return "; ".join(f"{name.strip()}: {text}" for name, text in zip(head, texts, strict=False) if text)


def line_count(lines: Sequence[str]) -> str:
    return "1 line" if len(lines) == 1 else f"{len(lines)} lines"


def _lines(text: str) -> list[str]:
    return plain_output(text).rstrip("\n").split("\n")


def _marked(mark: str, lines: Sequence[str]) -> list[str]:
    return [f"{mark} {plain_output(line.rstrip())}".rstrip() for line in lines]


def _places(start: int, end: int) -> str:
    return f"line {end}" if end - start == 1 else f"lines {start + 1}–{end}"
