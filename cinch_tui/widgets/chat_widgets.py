"""Widgets of the chat screen."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, Self

from msgspec import Struct
from msgspec.structs import replace
from textual.containers import Container
from textual.content import Content
from textual.events import Resize
from textual.geometry import Size
from textual.reactive import reactive
from textual.widget import Widget

from cinch_tui.transcript.blocks import NoticeBlock
from cinch_tui.transcript.view import Transcript
from cinch_tui.widgets.queue_line import QueueLine
from cinch_tui.widgets.status_bar import StatusBar
from cinch_tui.widgets.tool_panel import ToolPanel
from harness.terminal_text import escape_controls
from harness.views import TodoItem, TodoView

if TYPE_CHECKING:
    from cinch_tui.reports.notices import NoticeLevel
    from cinch_tui.transcript.block import Channel, TranscriptBlock
    from harness.messages import Usage

STYLES = [Path(__file__).parent.parent / "styles" / f"{name}.tcss" for name in ("transcript", "code", "panel")]


_THINKING: frozenset[Channel] = frozenset(("thinking",))
_REMINDERS: frozenset[Channel] = frozenset(("reminder",))
WIDE = 120
SHORT = 9
TINY = 4
MAX_TODO_ROWS = 5

_TODO_MARKS = {"pending": "○", "in_progress": "▸", "completed": "✓"}


class ChatWidgets(Struct, frozen=True):
    """Widgets above the prompt, and the status bar."""

    transcript_area: TranscriptArea
    transcript: Transcript
    tool_panel: ToolPanel
    todo_panel: TodoPanel
    queue: QueueLine
    status: StatusBar

    @classmethod
    def above(cls, status: StatusBar) -> Self:
        transcript = Transcript()
        return cls(TranscriptArea(transcript), transcript, ToolPanel(), TodoPanel(), QueueLine(), status)

    @property
    def above_prompt(self) -> list[Widget]:
        """Return the widgets above the prompt from top to bottom."""
        return [self.transcript_area, self.todo_panel, self.tool_panel, self.queue]

    def notice(self, text: str, level: NoticeLevel = "info") -> NoticeBlock:
        block = NoticeBlock(text, level)
        self.transcript.add(block)
        return block

    def set_status(self, **changes: object) -> None:
        """Change these fields of the status bar."""
        self.status.status = replace(self.status.status, **changes)

    def show_model(self, name: str) -> None:
        """Show the model in the status bar and the start banner."""
        self.set_status(model=name)
        if self.transcript.banner:
            self.transcript.banner = replace(self.transcript.banner, model=name)

    def show_usage(self, total: Usage, context: int, window: int) -> None:
        self.set_status(
            tokens_in=total.input + total.cache_read + total.cache_write,
            tokens_out=total.output,
            cost=total.cost.total if total.cost else None,
        )
        self.status.update_context(context, window)

    def show(self, blocks: list[TranscriptBlock]) -> None:
        """Show these blocks instead of the current conversation."""
        self.transcript.clear()
        self.transcript.extend(blocks)
        self.transcript.follow()
        self.todo_panel.todo = TodoView(())
        self.tool_panel.clear()
        self.queue.show(())

    @property
    def shows_thinking(self) -> bool:
        return "thinking" not in self.transcript.hidden_channels

    def show_thinking(self, *, shown: bool) -> None:
        """Show or hide the thinking of the model."""
        others = self.transcript.hidden_channels - _THINKING
        self._hide(others if shown else others | _THINKING)

    def toggle_channels(self) -> bool:
        """Show thinking and reminders, or hide both if neither is hidden; return True if they are shown now."""
        shown = bool(self.transcript.hidden_channels)
        self._hide(frozenset() if shown else _THINKING | _REMINDERS)
        return shown

    def _hide(self, channels: frozenset[Channel]) -> None:
        self.transcript.hidden_channels = channels
        self.set_status(thinking_hidden=bool(channels & _THINKING))


class TranscriptArea(Container):
    """Arranges both side by side from `WIDE` columns on, else on top of each other.

    Below the transcript, an unfocused panel shrinks to one line if there are fewer than `SHORT` rows, and is hidden
    below `TINY` rows: the transcript has priority.
    """

    def on_resize(self, event: Resize) -> None:
        is_wide = event.size.width >= WIDE
        self.set_class(is_wide, "-wide")
        self.set_class(not is_wide and event.size.height < SHORT, "-short")
        self.set_class(not is_wide and event.size.height < TINY, "-tiny")


class TodoPanel(Widget):
    """Hidden if the list is empty or complete."""

    COMPONENT_CLASSES: ClassVar[set[str]] = {
        f"todo-panel--{name}" for name in ("pending", "in-progress", "completed", "count")
    }

    todo: reactive[TodoView] = reactive(TodoView(()), layout=True)

    def watch_todo(self, todo: TodoView) -> None:
        self.set_class(any(item.status != "completed" for item in todo.items), "-has-work")

    def get_content_height(self, container: Size, viewport: Size, width: int) -> int:
        return min(len(self.todo.items), MAX_TODO_ROWS, max(1, viewport.height // 6))

    def render(self) -> Content:
        items = self.todo.items
        if not items:
            return Content()
        shown = window_around_current(items, max(1, self.size.height))
        lines = [self._line(item) for item in shown]
        done = sum(item.status == "completed" for item in items)
        count = self.get_visual_style("todo-panel--count", partial=True)
        progress = f"  {done}/{len(items)}"
        line = lines[0].truncate(self.size.width - len(progress), ellipsis=True, pad=True)
        lines[0] = Content.assemble(line, (progress, count))
        return Content("\n").join(lines)

    def _line(self, item: TodoItem) -> Content:
        look = self.get_visual_style(f"todo-panel--{item.status.replace('_', '-')}", partial=True)
        text = escape_controls(" ".join(item.content.split()))
        return Content.assemble((f"{_TODO_MARKS[item.status]} {text}", look)).truncate(self.size.width, ellipsis=True)


def window_around_current(items: tuple[TodoItem, ...], rows: int) -> tuple[TodoItem, ...]:
    """Return at most `rows` items: the last completed one, the current one, and the next ones."""
    current = next((index for index, item in enumerate(items) if item.status != "completed"), 0)
    start = max(0, min(current - 1, len(items) - rows)) if rows > 1 else current
    return items[start : start + rows]
