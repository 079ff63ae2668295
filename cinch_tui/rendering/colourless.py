"""Monochrome output for NO_COLOR: bold, dim and reverse remain.

A background color becomes reverse video, since it marks the selection.
"""

from __future__ import annotations

from functools import lru_cache

from rich.segment import Segment
from rich.style import Style
from textual.color import Color
from textual.filter import LineFilter


class Colourless(LineFilter):
    """Line filter that removes all colors. Textual's own filter only converts them to grays."""

    def apply(self, segments: list[Segment], background: Color) -> list[Segment]:
        del background
        return [Segment(text, _without_colour(style) if style else style, control) for text, style, control in segments]


@lru_cache(1024)
def _without_colour(style: Style) -> Style:
    has_ground = style.bgcolor is not None and not style.bgcolor.is_default
    return style.without_color + _SWAPPED if has_ground else style.without_color


_SWAPPED = Style(reverse=True)
