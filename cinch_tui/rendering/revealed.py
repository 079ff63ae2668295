"""Text as it is shown for approval: nothing in it can be overlooked."""

from __future__ import annotations

import re

from cinch_tui.rendering.harmless import LONGEST_LINE

MOST_BLANK_LINES = 3
MOST_BLANKS = 80
# All that Unicode calls blank; a line may consist of them and look empty.
_BLANK_LINES = re.compile(rf"\n(?:[^\S\n]*\n){{{MOST_BLANK_LINES + 1},}}")
_BLANKS = re.compile(rf"[^\S\n]{{{MOST_BLANKS + 1},}}")


def revealed(text: str) -> str:
    """The text with long runs of blanks and blank lines replaced by their number, and no line too long to be shown."""
    text = _BLANK_LINES.sub(lambda found: f"\n⋯ {found[0].count(chr(10)) - 1:,} blank lines ⋯\n", f"\n{text}")[1:]
    return "\n".join(_whole(shortened(line)) for line in text.split("\n"))


def shortened(line: str) -> str:
    """A line with long runs of blanks replaced by their number."""
    return _BLANKS.sub(lambda found: f" ⋯ {len(found[0]):,} blanks ⋯ ", line)


def _whole(line: str) -> str:
    """A line in pieces that are shown in full."""
    pieces = (line[at : at + LONGEST_LINE] for at in range(0, len(line), LONGEST_LINE))
    return "\n".join(pieces)
