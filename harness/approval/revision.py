"""Revision of a call by the user: with other text, or with some of its hunks.

A note before the result reports to the model exactly what was accepted and what was rejected, with the reasons.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from msgspec import Struct

from harness.ports.tool import Revisable, Tool
from harness.user_requests import RejectedHunk
from harness.views import DiffView, TerminalView, TextView, View
from harness.workspace.hunks import Hunk, Sides, applied, hunks_of

MAX_LINES = 20
MAX_HUNKS = 20
MAX_LINE_CHARS = 300


class Revision(Struct, frozen=True):
    """Revised text of a call's view, and the note for the model."""

    text: str
    """Text in the form of the view: the content of a file, or a command."""
    note: str
    """Report for the model."""


def is_revisable(tool: Tool, view: View | None) -> bool:
    """Return True if the user may revise the call."""
    match view:
        case DiffView(new=None):
            return False
        case DiffView() | TerminalView():
            return isinstance(tool, Revisable)
        case TextView(editable=text) if text:
            return isinstance(tool, Revisable)
        case _:
            return False


def with_hunks(view: DiffView, rejected: Sequence[RejectedHunk]) -> Revision | None:
    """Return the change without the rejected hunks, or None if nothing is left."""
    hunks = hunks_of(view)
    reasons = {each.number: each.reason for each in rejected}
    taken = [number for number in range(len(hunks)) if number not in reasons]
    text = applied(view, taken)
    if text is None or text == view.old:
        return None
    applied_lines = "; ".join(_lines(hunks[number]) for number in taken)
    note = (
        f"The user allowed only a part of this change to {view.path}: {len(taken)} of {len(hunks)} hunks.\n"
        f"Applied (lines of the file before): {applied_lines}.\n"
        f"Rejected, so NOT applied:\n{rejections(view, rejected)}"
        "Continue from the file as it is now. Do not make a rejected change in another way; if a reason states what is "
        "wanted instead, propose that.\n"
    )
    return Revision(text, note)


def rejections(view: DiffView, rejected: Sequence[RejectedHunk]) -> str:
    """Describe the rejected hunks with their reasons, for the model."""
    sides, hunks = Sides.of(view), hunks_of(view)
    known = sorted((each for each in rejected if each.number < len(hunks)), key=lambda each: each.number)
    return _listed(sides, [(hunks[each.number], each.reason) for each in known], "hunks")


def apply_revision(proposed: View, text: str) -> Revision:
    """Return the user's replacement for what the model proposed."""
    if isinstance(proposed, TextView):
        return Revision(text, f"The user changed the text before allowing the call; it is now:\n{text}\n")
    if not isinstance(proposed, DiffView):
        return Revision(text, f"The user changed the command before allowing it; what ran is:\n{text}\n")
    difference = DiffView(proposed.path, proposed.new or "", text)
    places = _listed(Sides.of(difference), [(hunk, "") for hunk in hunks_of(difference)], "places")
    note = (
        f"The user changed your proposal for {proposed.path} before allowing it. From what you proposed (-) to what "
        f"was written (+):\n{places}"
    )
    return Revision(text, note)


def _listed(sides: Sides, hunks: Sequence[tuple[Hunk, str]], noun: str) -> str:
    """Return hunks with their reasons, up to `MAX_HUNKS`."""
    shown = (
        f"@@ {_lines(hunk)}{f': {reason}' if reason else ''}\n{''.join(_signed(sides, hunk))}"
        for hunk, reason in hunks[:MAX_HUNKS]
    )
    more = f"… and {len(hunks) - MAX_HUNKS} more {noun}\n" if len(hunks) > MAX_HUNKS else ""
    return "".join(shown) + more


def _lines(hunk: Hunk) -> str:
    first, last = hunk.old_from + 1, hunk.old_to
    if last < first:
        return f"after line {last}" if last else "at the beginning"
    return f"line {first}" if first == last else f"lines {first}–{last}"


def _signed(sides: Sides, hunk: Hunk) -> Iterator[str]:
    for sign, side in (("-", sides.old[hunk.old_from : hunk.old_to]), ("+", sides.new[hunk.new_from : hunk.new_to])):
        for line in side[:MAX_LINES]:
            bare = line.removesuffix("\n")
            yield f"{sign}{bare[:MAX_LINE_CHARS]}{'…' if len(bare) > MAX_LINE_CHARS else ''}\n"
        if len(side) > MAX_LINES:
            yield f"{sign}… {len(side) - MAX_LINES} more lines\n"
