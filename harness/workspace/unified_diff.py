"""Unified diffs of views."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from harness.views import DiffView
from harness.workspace.hunks import Hunk, Sides, changed_lines

CONTEXT = 3
OPEN_END = "\\ No newline at end of file\n"


def unified(view: DiffView) -> str:
    """Return the change as a unified diff; empty if both sides are equal."""
    hunks = unified_hunks(view)
    if not hunks and view.old is not None and view.new is not None:
        return ""
    path = view.path.lstrip("/")
    before = "/dev/null" if view.old is None else f"a/{path}"
    after = "/dev/null" if view.new is None else f"b/{path}"
    return f"--- {before}\n+++ {after}\n{hunks}"


def unified_hunks(view: DiffView) -> str:
    """Return the hunks of a unified diff, without its header."""
    sides = Sides.of(view)
    return "".join(_hunk(sides, group) for group in _together(changed_lines(sides)))


def _together(changes: Sequence[Hunk]) -> Iterator[list[Hunk]]:
    """Group changes whose context lines overlap into one hunk."""
    group: list[Hunk] = []
    for change in changes:
        if group and change.old_from - group[-1].old_to > 2 * CONTEXT:
            yield group
            group = []
        group.append(change)
    if group:
        yield group


def _hunk(sides: Sides, changes: Sequence[Hunk]) -> str:
    first, last = changes[0], changes[-1]
    start = max(0, first.old_from - CONTEXT)
    end = min(len(sides.old), last.old_to + CONTEXT)
    new_start = first.new_from - (first.old_from - start)
    new_end = last.new_to + (end - last.old_to)
    lines = [f"@@ -{_range(start, end)} +{_range(new_start, new_end)} @@\n"]
    done = start
    for change in changes:
        lines += _prefixed(" ", sides.old[done : change.old_from])
        lines += _prefixed("-", sides.old[change.old_from : change.old_to])
        lines += _prefixed("+", sides.new[change.new_from : change.new_to])
        done = change.old_to
    return "".join((*lines, *_prefixed(" ", sides.old[done:end])))


def _range(start: int, end: int) -> str:
    """Format a range of a hunk header: lines count from 1; an empty range names the line before it."""
    return f"{start + 1 if end > start else start},{end - start}"


def _prefixed(mark: str, lines: Sequence[str]) -> list[str]:
    return [f"{mark}{line}" if line.endswith("\n") else f"{mark}{line}\n{OPEN_END}" for line in lines]
