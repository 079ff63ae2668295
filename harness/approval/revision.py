"""A call as the person wants it: with a text of their own, or with some hunks of its change only.

The model is told exactly what was taken, what was not and why, in front of the result.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from harness.lazy_dataclass import dataclass
from harness.ports.interaction import RejectedHunk
from harness.ports.tool import Revisable, Tool
from harness.views import DiffView, TerminalView, View
from harness.workspace.hunks import Hunk, Sides, applied, hunks_of

MOST_LINES = 20
MOST_HUNKS = 20
LONGEST_LINE = 300


@dataclass(frozen=True, slots=True)
class Revision:
    """What the call is to do, in the form of its view, and what the model is told of it."""

    text: str
    note: str


def is_revisable(tool: Tool, view: View | None) -> bool:
    """Whether a person may change what the call would do."""
    match view:
        case DiffView(new=None):
            return False
        case DiffView() | TerminalView():
            return isinstance(tool, Revisable)
        case _:
            return False


def with_hunks(view: DiffView, refused: Sequence[RejectedHunk]) -> Revision | None:
    """The change without the refused hunks; None when nothing of it is left."""
    hunks = hunks_of(view)
    reasons = {each.number: each.reason for each in refused}
    taken = [number for number in range(len(hunks)) if number not in reasons]
    text = applied(view, taken)
    if text is None or text == view.old:
        return None
    made = "; ".join(_lines(hunks[number]) for number in taken)
    note = (
        f"The user allowed only a part of this change to {view.path}: {len(taken)} of {len(hunks)} hunks.\n"
        f"Made (lines of the file before): {made}.\n"
        f"Refused, so NOT made:\n{rejections(view, refused)}"
        "Work on from the file as it is now. Do not make what was refused in another way; where a reason says what is "
        "wanted instead, propose that.\n"
    )
    return Revision(text, note)


def rejections(view: DiffView, refused: Sequence[RejectedHunk]) -> str:
    """The refused hunks, each with its reason, as the model is shown them."""
    sides, hunks = Sides.of(view), hunks_of(view)
    known = sorted((each for each in refused if each.number < len(hunks)), key=lambda each: each.number)
    shown = [_hunk(sides, hunks[each.number], each.reason) for each in known[:MOST_HUNKS]]
    more = f"… and {len(known) - MOST_HUNKS} more hunks\n" if len(known) > MOST_HUNKS else ""
    return "".join(shown) + more


def apply_revision(proposed: View, text: str) -> Revision:
    """What the person wrote in place of what the model proposed."""
    if not isinstance(proposed, DiffView):
        return Revision(text, f"The user changed the command before allowing it; what ran is:\n{text}\n")
    difference = DiffView(proposed.path, proposed.new or "", text)
    sides, hunks = Sides.of(difference), hunks_of(difference)
    shown = "".join(_hunk(sides, hunk, "") for hunk in hunks[:MOST_HUNKS])
    more = f"… and {len(hunks) - MOST_HUNKS} more places\n" if len(hunks) > MOST_HUNKS else ""
    told = (
        f"The user changed your proposal for {proposed.path} before allowing it. From what you proposed (-) to what "
        f"was written (+):\n{shown}{more}"
    )
    return Revision(text, told)


def _hunk(sides: Sides, hunk: Hunk, reason: str) -> str:
    why = f": {reason}" if reason else ""
    return f"@@ {_lines(hunk)}{why}\n{''.join(_signed(sides, hunk))}"


def _lines(hunk: Hunk) -> str:
    first, last = hunk.old_from + 1, hunk.old_to
    if last < first:
        return f"after line {last}" if last else "at the beginning"
    return f"line {first}" if first == last else f"lines {first}–{last}"


def _signed(sides: Sides, hunk: Hunk) -> Iterator[str]:
    for sign, side in (("-", sides.old[hunk.old_from : hunk.old_to]), ("+", sides.new[hunk.new_from : hunk.new_to])):
        for line in side[:MOST_LINES]:
            bare = line.removesuffix("\n")
            yield f"{sign}{bare[:LONGEST_LINE]}{'…' if len(bare) > LONGEST_LINE else ''}\n"
        if len(side) > MOST_LINES:
            yield f"{sign}… {len(side) - MOST_LINES} more lines\n"
