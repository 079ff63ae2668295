"""Virtualized list with a cursor; only visible rows are drawn."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from msgspec import Struct
from rich.cells import cell_len
from rich.segment import Segment
from rich.style import Style
from rich.text import Text
from textual.events import Click
from textual.geometry import Region, Size
from textual.message import Message
from textual.reactive import var
from textual.scroll_view import ScrollView
from textual.strip import Strip

from cinch_tui.data_message import DataMessage
from cinch_tui.fuzzy_match import match_spans
from cinch_tui.rendering.styles import component_style
from cinch_tui.transcript.lines import text_runs, truncated

DETAIL_SHARE = 0.45
"""Minimum share of the width for details if labels are long."""


class ItemRow(Struct, frozen=True):
    """A row with label and detail, or a title."""

    label: str
    detail: str
    is_title: bool = False
    key: str = ""
    """Identifies the row wherever it is."""


class ItemList(ScrollView):
    """List without focus: the filter field above receives the keys and moves the cursor."""

    COMPONENT_CLASSES: ClassVar[set[str]] = {f"item-list--{name}" for name in ("cursor", "detail", "match", "title")}

    cursor = var(0)

    class Clicked(DataMessage):
        """A row was clicked."""

        index: int

    class Moved(Message):
        """The cursor moved."""

    def __init__(self, *, id: str | None = None) -> None:  # noqa: A002 - Textual's own name for it
        super().__init__(id=id)
        self._rows: Sequence[ItemRow] = ()
        self._query = ""
        self._widest = self._widest_detail = 0

    def show(self, rows: Sequence[ItemRow], query: str, cursor: int) -> None:
        """Show these rows, highlight the letters of `query`, and place the cursor."""
        self._rows = rows
        self._query = query
        both = [row for row in rows if row.detail and row.label]
        self._widest = max((cell_len(row.label) for row in both), default=0)
        self._widest_detail = max((cell_len(row.detail) for row in both), default=0)
        self.virtual_size = Size(self.scrollable_content_region.width, len(rows))
        self.cursor = self.validate_cursor(cursor)
        self._follow()
        self.refresh(layout=True)

    def action_move(self, by: int) -> None:
        self.cursor += by

    def action_page(self, direction: int) -> None:
        self.action_move(direction * max(1, self.size.height - 1))

    def validate_cursor(self, cursor: int) -> int:
        return max(0, min(cursor, len(self._rows) - 1))

    def watch_cursor(self, before: int, after: int) -> None:
        self.refresh_line(before)
        self.refresh_line(after)
        self._follow()
        self.post_message(self.Moved())

    def get_content_height(self, container: Size, viewport: Size, width: int) -> int:
        return len(self._rows)

    def on_resize(self) -> None:
        self.virtual_size = Size(self.scrollable_content_region.width, len(self._rows))
        self._follow()

    def on_click(self, event: Click) -> None:
        offset = event.get_content_offset(self)
        if offset is not None and 0 <= offset.y + self.scroll_offset.y < len(self._rows):
            self.post_message(self.Clicked(offset.y + self.scroll_offset.y))

    def render_line(self, y: int) -> Strip:
        width = self.scrollable_content_region.width
        index = y + self.scroll_offset.y
        if index >= len(self._rows):
            return Strip.blank(width, self.rich_style)
        base = self.rich_style
        if index == self.cursor:
            base += component_style(self, "item-list--cursor")
        runs = text_runs(self._line(self._rows[index], width), base)
        return Strip([Segment(text, style) for text, style in runs]).crop_extend(0, width, base)

    def _line(self, row: ItemRow, width: int) -> Text:
        # All details share one column.
        details = min(self._widest_detail, int(width * DETAIL_SHARE))
        room = min(self._widest, width - 2 - details) if row.detail and row.label else width
        label = Text(truncated(row.label, room))
        if row.is_title:
            label.stylize(component_style(self, "item-list--title"))
        mark: Style = component_style(self, "item-list--match")
        for start, end in match_spans(self._query, label.plain):
            label.stylize(mark, start, end)
        if row.detail and row.label:
            label.pad_right(room - cell_len(label.plain) + 2)
        detail = truncated(row.detail, width - cell_len(label.plain))
        return label.append(detail, component_style(self, "item-list--detail"))

    def _follow(self) -> None:
        if self.size.height:
            self.scroll_to_region(Region(0, self.cursor, 1, 1), animate=False, force=True)
