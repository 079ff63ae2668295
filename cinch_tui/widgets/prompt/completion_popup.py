"""Completion popup above the prompt."""

from __future__ import annotations

from typing import ClassVar

from rich.cells import cell_len
from textual.content import Content
from textual.geometry import Size
from textual.reactive import var
from textual.widget import Widget

from cinch_tui.rendering.component_look import look_of
from cinch_tui.widgets.prompt.completion import Candidate, Completion

MAX_ROWS = 8
# Rows reserved on a low terminal: prompt, status bar, two lines of transcript.
_ROWS_FOR_OTHERS = 6


class CompletionPopup(Widget):
    COMPONENT_CLASSES: ClassVar[set[str]] = {"completion-popup--description", "completion-popup--highlighted"}

    is_open = var(default=False, toggle_class="-open")

    def __init__(self) -> None:
        super().__init__()
        self.completion: Completion | None = None
        self.has_moved = False
        self._index = 0

    @property
    def highlighted(self) -> Candidate | None:
        return self.completion.candidates[self._index] if self.completion else None

    def open(self, completion: Completion) -> None:
        self.completion = completion
        self.has_moved = False
        self._index = 0
        self.is_open = True
        self.refresh(layout=True)

    def close(self) -> None:
        self.completion = None
        self.is_open = False

    def move(self, step: int) -> None:
        if self.completion:
            self._index = (self._index + step) % len(self.completion.candidates)
            self.has_moved = True
            self.refresh()

    def get_content_height(self, container: Size, viewport: Size, width: int) -> int:
        wanted = len(self.completion.candidates) if self.completion else 0
        return min(wanted, MAX_ROWS, max(1, viewport.height - _ROWS_FOR_OTHERS))

    def render(self) -> Content:
        if self.completion is None:
            return Content()
        rows = max(1, self.size.height)
        # The visible rows scroll with the highlight.
        first = max(0, self._index - rows + 1)
        shown = self.completion.candidates[first : first + rows]
        room = max(self.size.width // 2, 24) if any(candidate.description for candidate in shown) else self.size.width
        names = min(max(cell_len(candidate.label) for candidate in shown), room)
        lines = [self._line(candidate, names) for candidate in shown]
        highlighted = self._index - first
        style = look_of(self, "completion-popup--highlighted")
        lines[highlighted] = lines[highlighted].truncate(self.size.width, pad=True).stylize(style)
        return Content("\n").join(lines)

    def _line(self, candidate: Candidate, names: int) -> Content:
        if not candidate.description:
            return Content(f" {candidate.label}").truncate(self.size.width, ellipsis=True)
        name = Content(candidate.label).truncate(names, ellipsis=True, pad=True)
        description = look_of(self, "completion-popup--description")
        line = Content.assemble(" ", name, "  ", (candidate.description, description))
        return line.truncate(self.size.width, ellipsis=True)
