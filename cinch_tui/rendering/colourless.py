"""What is painted without any colour, for those who set NO_COLOR: bold, dim and swapped letters remain."""

from __future__ import annotations

from rich.segment import Segment
from textual.color import Color
from textual.filter import LineFilter


class Colourless(LineFilter):
    """Textual's own turns colours into shades of grey, which are colours too."""

    def apply(self, segments: list[Segment], background: Color) -> list[Segment]:
        del background
        return [Segment(text, style.without_color if style else style, control) for text, style, control in segments]
