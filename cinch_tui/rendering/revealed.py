"""Text for an approval: long blanks and long lines cannot hide anything."""

from __future__ import annotations

import re

from cinch_tui.rendering.harmless import LONGEST_LINE

MOST_BLANK_LINES = 3
MOST_BLANKS = 80
# Any Unicode whitespace: a line may consist of it and look empty.
_BLANK_LINES = re.compile(rf"\n(?:[^\S\n]*\n){{{MOST_BLANK_LINES + 1},}}")
_BLANKS = re.compile(rf"[^\S\n]{{{MOST_BLANKS + 1},}}")


def revealed(text: str) -> str:
    """Replace long runs of blanks and blank lines by their count, and split long lines."""
    text = _BLANK_LINES.sub(lambda found: f"\n⋯ {found[0].count(chr(10)) - 1:,} blank lines ⋯\n", f"\n{text}")[1:]
    return "\n".join(_whole(shortened(line)) for line in text.split("\n"))


def shortened(line: str) -> str:
    """Replace long runs of blanks in a line by their count."""
    return _BLANKS.sub(lambda found: f" ⋯ {len(found[0]):,} blanks ⋯ ", line)


def _whole(line: str) -> str:
    """Split a line into pieces short enough to be shown completely."""
    pieces = (line[at : at + LONGEST_LINE] for at in range(0, len(line), LONGEST_LINE))
    return "\n".join(pieces)
