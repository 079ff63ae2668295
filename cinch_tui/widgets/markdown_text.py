"""Markdown in a dialog, drawn like replies in the transcript."""

from __future__ import annotations

from typing import ClassVar

from textual.geometry import Size
from textual.strip import Strip
from textual.widget import Widget

from cinch_tui.rendering.styles import DIFF_CLASSES
from cinch_tui.transcript.lines import Line
from cinch_tui.transcript.painting import painted
from cinch_tui.transcript.replies import ReplyBlock, reply_lines
from cinch_tui.transcript.styles import STYLE_NAMES, BlockStyles, Ways, block_styles, component_class


class MarkdownText(Widget):
    """Text with the height of its lines; its container scrolls."""

    COMPONENT_CLASSES: ClassVar[set[str]] = {component_class(name) for name in STYLE_NAMES} | DIFF_CLASSES
    DEFAULT_CSS = "MarkdownText { height: auto; }"

    def __init__(self, text: str, *, id: str | None = None) -> None:  # noqa: A002 - Textual's own name for it
        super().__init__(id=id)
        self._reply = ReplyBlock(text)
        self._look: BlockStyles | None = None

    def update(self, text: str) -> None:
        self._reply = ReplyBlock(text)
        self.refresh(layout=True)

    def notify_style_update(self) -> None:
        super().notify_style_update()
        self._look = None

    def get_content_height(self, container: Size, viewport: Size, width: int) -> int:
        del container, viewport
        return len(self._lines(width))

    def render_line(self, y: int) -> Strip:
        width = self.size.width
        lines = self._lines(width)
        return painted(lines[y], width, self.rich_style) if y < len(lines) else Strip.blank(width, self.rich_style)

    def _lines(self, width: int) -> list[Line]:
        if self._look is None:
            self._look = block_styles(self, Ways())
        return reply_lines(self._reply, self._look, max(1, width))
