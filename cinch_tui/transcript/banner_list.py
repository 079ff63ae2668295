"""Transcript list that shows the start banner while the conversation is empty."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cinch_tui.transcript.image_list import ImageList
from cinch_tui.transcript.lines import plain_line
from cinch_tui.transcript.painting import paint_line

if TYPE_CHECKING:
    from textual.strip import Strip

    from cinch_tui.app.start_banner import StartBanner
    from cinch_tui.transcript.layout import ScreenRow


class BanneredSheet(ImageList):
    def __init__(self, *, id: str | None = None) -> None:  # noqa: A002 - Textual's own name for it
        super().__init__(id=id)
        self._banner: StartBanner | None = None

    @property
    def banner(self) -> StartBanner | None:
        """Shown as long as there are no blocks."""
        return self._banner

    @banner.setter
    def banner(self, banner: StartBanner | None) -> None:
        self._banner = banner
        if not self._rows:
            self.refresh()

    def _show(self, rows: list[ScreenRow]) -> None:
        if self._banner and bool(rows) != bool(self._rows):
            self.refresh()
        super()._show(rows)

    def render_line(self, y: int) -> Strip:
        if self._rows or self._banner is None:
            return super().render_line(y)
        width, styles = self.size.width, self._layout.styles
        lines = self._banner.lines(width)
        style = styles.on_base("heading" if y == 0 else "muted")
        return paint_line(plain_line(lines[y] if y < len(lines) else "", style), width, styles.base)
