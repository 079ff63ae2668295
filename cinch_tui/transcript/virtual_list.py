"""Virtualized list of blocks that draws only visible lines: painting, scrolling and following the end."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Sequence
from time import monotonic, perf_counter, time
from typing import ClassVar, Self

from rich.segment import Segment
from rich.style import Style
from textual.geometry import Region, Size
from textual.reactive import var
from textual.scroll_view import ScrollView
from textual.selection import Selection
from textual.strip import Strip
from textual.widget import Widget

from cinch_tui.data_message import DataMessage
from cinch_tui.rendering.styles import DIFF_CLASSES
from cinch_tui.transcript.block import Channel, TranscriptBlock
from cinch_tui.transcript.heights import Heights
from cinch_tui.transcript.layout import START, Layout, ScreenRow
from cinch_tui.transcript.painting import Highlight, Strips, changed_regions, paint_line
from cinch_tui.transcript.row_decorations import stamped, with_caret
from cinch_tui.transcript.styles import STYLE_NAMES, BlockStyles, DisplayOptions, block_styles, component_class

FRAME = 1 / 20
# Maximum time per frame for new text, in seconds, before keys are handled.
SLICE = 0.006
# Pause after an expensive frame, as a multiple of its duration.
REST = 4
# Minimum layout width; narrower views crop lines.
NARROWEST = 12


class VirtualList(ScrollView):
    """Vertical list of blocks. Blocks are plain objects: modify one, then call `changed`."""

    COMPONENT_CLASSES: ClassVar[set[str]] = {component_class(name) for name in STYLE_NAMES} | DIFF_CLASSES

    class Unseen(DataMessage, namespace="transcript"):
        """Number of new lines below the view; 0 once they are visible."""

        count: int

    options: var[DisplayOptions] = var(DisplayOptions(), init=False)
    hidden_channels: var[frozenset[Channel]] = var(frozenset[Channel](), init=False)
    """Channels whose blocks have no lines."""

    def __init__(self) -> None:
        super().__init__()
        self._layout = Layout(BlockStyles.bare())
        self._styles_are_stale = True
        self._top = START
        self.following = True
        """The view follows the end."""
        self._rows: list[ScreenRow] = []
        self._strips = Strips()
        self._content = object()
        """Replaced when the list is cleared."""
        self._dirty: dict[TranscriptBlock, bool] = {}
        self._due: asyncio.TimerHandle | None = None
        self._last_frame = 0.0
        self._pause = FRAME
        self._unseen = 0
        self._thumb = (0, 0)
        self._settled = asyncio.Event()
        self._settled.set()

    @property
    def blocks(self) -> Sequence[TranscriptBlock]:
        return self._layout.blocks

    def watch_options(self) -> None:
        self._styles_are_stale = True
        self._schedule()

    def watch_hidden_channels(self, channels: frozenset[Channel]) -> None:
        self._layout.hide(channels)
        if self._top.block < len(self.blocks) and self.blocks[self._top.block].hidden:
            self._top = self._top._replace(part=0, line=0)
        self._schedule()

    def add(self, block: TranscriptBlock) -> None:
        """Append a block."""
        self.extend((block,))

    def extend(self, blocks: Iterable[TranscriptBlock]) -> None:
        """Append blocks; they are not drawn before they are visible."""
        before = self._layout.heights.total
        self._layout.extend(self._received(blocks))
        self._count_unseen(self._layout.heights.total - before)
        self._schedule()

    def prepend(self, blocks: Sequence[TranscriptBlock], heights: Heights | None = None) -> None:
        """Insert blocks at the top; the view keeps its position. Heights must be from the layout of now."""
        if heights is None:
            blocks = list(self._received(blocks))
        self._top = self._layout.prepend(blocks, self._top, heights)
        self._schedule()

    async def prepend_built(self, build: Callable[[], Sequence[TranscriptBlock]]) -> None:
        """Build many blocks in a thread and insert them at the top, unless the list is cleared; keys are handled."""
        content, shown = self._content, (self._layout.width, self.hidden_channels)
        blocks, heights = await asyncio.to_thread(self._measured, build)
        if self._content is content:
            is_current = shown == (self._layout.width, self.hidden_channels)
            self.prepend(blocks, heights if is_current else None)

    def _measured(self, build: Callable[[], Iterable[TranscriptBlock]]) -> tuple[list[TranscriptBlock], Heights]:
        blocks = list(self._received(build()))
        return blocks, self._layout.measured(blocks)

    def changed(self, block: TranscriptBlock) -> None:
        """Redraw a block soon; repeated calls are merged."""
        if not self._dirty.get(block):
            self._dirty[block] = True
            self._schedule()

    def fold_changed(self, block: TranscriptBlock) -> None:
        """Redraw a folded or unfolded block; its lines do not count as new."""
        self._dirty.setdefault(block, False)
        self._schedule()

    def _received(self, blocks: Iterable[TranscriptBlock]) -> Iterable[TranscriptBlock]:
        """Set visibility and time of new blocks; the time defaults to now."""
        for block in blocks:
            block.hidden = block.channel in self.hidden_channels
            if block.time is None:
                block.time = time()
            yield block

    def drop(self, block: TranscriptBlock) -> None:
        """Remove a block, if present."""
        index = block.index
        if index < 0:
            return
        self._dirty.pop(block, None)
        self._layout.remove(block)
        if self._top.block > index:
            self._top = self._top._replace(block=self._top.block - 1)
        elif self._top.block == index:
            self._top = self._top._replace(part=0, line=0)
        self._schedule()

    def clear(self) -> None:
        """Remove all blocks."""
        self._layout.clear()
        self._content = object()
        self._dirty.clear()
        self._top, self.following = START, True
        self._report_unseen(0)
        self._schedule()

    def follow(self) -> None:
        """Scroll to the end and stay there."""
        self.following = True
        self._schedule()

    async def drained(self) -> None:
        """Wait until all changes so far are painted."""
        await self._settled.wait()
        painted = asyncio.Event()
        if self.is_running and self.call_after_refresh(painted.set):
            await painted.wait()

    def _schedule(self) -> None:
        if not self.is_running:
            return
        self._settled.clear()
        if self._due is None:
            delay = self._last_frame + self._pause - monotonic()
            # Textual's timers never fire if their task is held up for longer than their delay as it starts.
            self._due = asyncio.get_running_loop().call_later(delay, self.call_next, self._frame)

    def _frame(self) -> None:
        self._due = None
        if not self.size:
            # Hidden or not laid out yet: the resize event will draw it.
            self._settled.set()
            return
        start = perf_counter()
        self._absorb(start + SLICE)
        self._arrange()
        spent = perf_counter() - start
        self._last_frame = monotonic()
        self._pause = SLICE if self._dirty else max(FRAME, spent * REST)
        if self._dirty:
            self._schedule()
        else:
            self._settled.set()

    def _absorb(self, deadline: float) -> None:
        self._fit()
        while self._dirty:
            block, is_new = next(iter(self._dirty.items()))
            if block.index < 0:
                del self._dirty[block]
                continue
            before = self._layout.heights[block.index]
            more = self._layout.advance(block)
            if is_new:
                self._count_unseen(block.heights.total - before)
            if not more:
                del self._dirty[block]
            if perf_counter() > deadline:
                return

    def _fit(self) -> None:
        """Adapt the layout to the width and theme, keeping the reading position."""
        # The size of a widget includes its scrollbar.
        width = max(NARROWEST, self.scrollable_content_region.width)
        if not self._styles_are_stale and width == self._layout.width:
            return
        styles = self._layout.styles
        # Style updates also occur on focus and hover, usually without a visible change.
        if self._styles_are_stale and (fresh := block_styles(self, self.options)) != styles:
            styles = fresh
        self._styles_are_stale = False
        if styles is not self._layout.styles:
            self.refresh()
        elif width == self._layout.width:
            return
        if width != self._layout.width and self.text_selection is not None:
            self.screen.clear_selection()
        self._top = self._layout.fit(styles, width, self._top)

    def _arrange(self) -> None:
        """Determine the visible rows and repaint changed ones."""
        height = self.size.height
        if not height:
            return
        self._fit()
        if self.following:
            self._top, rows = self._layout.end_view(self._top, height)
        else:
            rows = self._layout.rows(self._top, height)
            if len(rows) < height and self._top != START:
                self._top = self._layout.above(self._layout.end, height)
                rows = self._layout.rows(self._top, height)
        self._show(rows)

    def _show(self, rows: list[ScreenRow]) -> None:
        rows = with_caret(stamped(rows, self._layout), self._layout)
        before, self._rows = self._rows, rows
        self._place_scrollbar()
        self._strips.move(before, rows)
        if regions := changed_regions(before, rows, self.size.width, with_marks=self._has_highlights):
            super().refresh(*regions)
        below = max(0, self._layout.heights.total - round(self.scroll_y) - self.size.height)
        self._report_unseen(0 if self.following else min(self._unseen, below))

    def _place_scrollbar(self) -> None:
        """Update Textual's scroll state without a layout or further repaints."""
        width, height = self.size
        top = self._layout.row_of(self._top)
        total = max(self._layout.heights.total, top + height if self.following else 0)
        # Textual's stubs do not model reactives accessed through the class.
        self.set_reactive(Widget.virtual_size, Size(width, total))  # pyright: ignore[reportArgumentType]
        if round(self.scroll_y) != top:
            self.set_scroll(None, top)
            self.scroll_target_y = top
        bar = self.vertical_scrollbar
        # Redraw only if the thumb moves by half a cell, since drawing the bar sends the whole column.
        thumb = round(2 * height * top / max(1, total)), round(2 * height * height / max(1, total))
        if thumb != self._thumb or bar.window_size != height:
            self._thumb = thumb
            bar.window_virtual_size = total
            bar.window_size = height
            bar.position = top

    def _count_unseen(self, lines: int) -> None:
        if not self.following and lines > 0:
            self._report_unseen(self._unseen + lines)

    def _report_unseen(self, count: int) -> None:
        if count != self._unseen:
            self._unseen = count
            self.post_message(self.Unseen(count))

    def render_lines(self, crop: Region) -> list[Strip]:
        """Render rows without Textual's handling of borders, tint and opacity, which are not used here."""
        margin = Segment(" " * self.gutter.left, Style(bgcolor=self._layout.styles.base.bgcolor))
        filters, background = self.get_line_filters(), self.background_colors[1]

        def paint(y: int) -> Strip:
            strip = Strip([margin, *self.render_line(y)])
            for each in filters:
                strip = strip.apply_filter(each, background)
            return strip

        self._strips.fit(self.size.width)
        return self._strips.cut(crop, paint)

    def refresh(self, *regions: Region, repaint: bool = True, layout: bool = False, recompose: bool = False) -> Self:
        if repaint:
            self._strips.forget(regions)
        return super().refresh(*regions, repaint=repaint, layout=layout, recompose=recompose)

    def render_line(self, y: int) -> Strip:
        width, style = self.size.width, self._layout.styles.base
        if y < len(self._rows):
            row = self._rows[y]
            return paint_line(row.shown, width, self._row_style(row), self._highlights(row)).apply_offsets(0, row.key)
        # A selection that ends below the last line includes that line completely.
        after = self._rows[-1].key + 1 if self._rows else 0
        return Strip.blank(width, style).apply_offsets(0, after)

    def _row_style(self, row: ScreenRow) -> Style:
        """Return the style of the empty part of a row."""
        return self._layout.styles.base

    @property
    def _has_highlights(self) -> bool:
        """Return True if highlights may be visible."""
        return self.text_selection is not None

    def _highlights(self, row: ScreenRow) -> list[Highlight]:
        selection = self.text_selection
        span = selection.get_span(row.key) if selection is not None else None
        if span is None:
            return []
        end = len(row.line.text) if span[1] == -1 else span[1]
        marked = self.screen.get_component_rich_style("screen--selection")
        # Textual's selection has no text color; the text would get the color of its background.
        style = Style(bgcolor=marked.bgcolor, reverse=marked.reverse)
        return [Highlight(max(span[0], row.line.gutter), end, style)]

    def get_selection(self, selection: Selection) -> tuple[str, str] | None:
        return self._layout.selected_text(selection), "\n"

    def selection_updated(self, selection: Selection | None) -> None:
        self.refresh()

    def watch_scroll_y(self, old_value: float, new_value: float) -> None:
        """Handle scrolling by keys, wheel or scrollbar."""
        page, height = self._layout, self.size.height
        wanted = round(new_value)
        delta = wanted - page.row_of(self._top)
        if not delta:
            return
        if wanted >= self.max_scroll_y:
            self.following = True
        elif abs(delta) > 4 * height:
            self.following = False
            self._top = page.place_at(wanted) if wanted > 0 else START
        else:
            self.following = False
            self._top = page.below(self._top, delta) if delta > 0 else page.above(self._top, -delta)
        self._arrange()

    def notify_style_update(self) -> None:
        super().notify_style_update()
        self._styles_are_stale = True
        self._strips.forget()
        self._schedule()

    def on_mount(self) -> None:
        super().on_mount()
        self.auto_links = False
        self._schedule()

    def on_unmount(self) -> None:
        self._settled.set()

    def on_resize(self) -> None:
        if self.following:
            # Recompute the top: a larger view shows more lines above instead of blanks below the end.
            self._top = START
        self._arrange()
        self._schedule()

    def _scroll_by(self, lines: int) -> None:
        self.scroll_relative(y=lines, animate=False)

    def action_scroll_up(self) -> None:
        self._scroll_by(-1)

    def action_scroll_down(self) -> None:
        self._scroll_by(1)

    def action_page_up(self) -> None:
        self._scroll_by(1 - self.size.height)

    def action_page_down(self) -> None:
        self._scroll_by(self.size.height - 1)

    def action_scroll_home(self) -> None:
        self.scroll_to(y=0, animate=False)

    def action_scroll_end(self) -> None:
        self.follow()
