"""Todo panel: the agent's todo list around the current item."""

from __future__ import annotations

from typing import ClassVar

from textual.content import Content
from textual.geometry import Size
from textual.reactive import reactive
from textual.widget import Widget

from harness.terminal_text import escape_controls
from harness.views import TodoItem, TodoView

MAX_ROWS = 5

_MARKS = {"pending": "○", "in_progress": "▸", "completed": "✓"}


class TodoPanel(Widget):
    """Hidden if the list is empty or complete."""

    COMPONENT_CLASSES: ClassVar[set[str]] = {
        f"todo-panel--{name}" for name in ("pending", "in-progress", "completed", "count")
    }

    todo: reactive[TodoView] = reactive(TodoView(()), layout=True)

    def watch_todo(self, todo: TodoView) -> None:
        self.set_class(any(item.status != "completed" for item in todo.items), "-has-work")

    def get_content_height(self, container: Size, viewport: Size, width: int) -> int:
        return min(len(self.todo.items), MAX_ROWS, max(1, viewport.height // 6))

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
        return Content.assemble((f"{_MARKS[item.status]} {text}", look)).truncate(self.size.width, ellipsis=True)


def window_around_current(items: tuple[TodoItem, ...], rows: int) -> tuple[TodoItem, ...]:
    """Return at most `rows` items: the last completed one, the current one, and the next ones."""
    current = next((index for index, item in enumerate(items) if item.status != "completed"), 0)
    start = max(0, min(current - 1, len(items) - rows)) if rows > 1 else current
    return items[start : start + rows]
