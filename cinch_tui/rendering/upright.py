"""Removal of italics for GNU screen, which shows them as reverse video."""

from __future__ import annotations

from functools import lru_cache

from rich.segment import Segment
from rich.style import Style
from textual.color import Color
from textual.filter import LineFilter

_UPRIGHT = Style(italic=False)


class Upright(LineFilter):
    """Line filter that removes italics."""

    def apply(self, segments: list[Segment], background: Color) -> list[Segment]:
        del background
        return [Segment(text, _upright(style) if style else style, control) for text, style, control in segments]


@lru_cache(1024)
def _upright(style: Style) -> Style:
    return style + _UPRIGHT if style.italic else style
