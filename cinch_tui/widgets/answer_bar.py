"""Row of dialog answers with their keys, wrapped if necessary."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import accumulate
from typing import TYPE_CHECKING, ClassVar

from rich.cells import cell_len
from textual import events
from textual.content import Content
from textual.geometry import Size
from textual.reactive import reactive
from textual.widget import Widget

from cinch_tui.data_message import DataMessage
from cinch_tui.keybindings.keymap import bindings

if TYPE_CHECKING:
    from cinch_tui.user_dialogs.approval_options import AnswerOption

MOST_LINES = 3
GAP = 2
"""Cells between two answers."""


class AnswerBar(Widget, can_focus=True):
    """Shows answers in at most `MOST_LINES` lines, shortening texts if necessary."""

    COMPONENT_CLASSES: ClassVar[set[str]] = {"answer-bar--key", "answer-bar--highlighted"}
    DEFAULT_CSS = """
    AnswerBar { height: auto; }
    AnswerBar > .answer-bar--key { text-style: bold; color: $text-primary; }
    AnswerBar > .answer-bar--highlighted { background: $primary 25%; text-style: bold; }
    """
    BINDINGS = bindings("answers")

    highlighted = reactive(0)
    """Index of the answer that Enter chooses."""

    class Chosen(DataMessage):
        """An answer was chosen with Enter or a click."""

        action: str
        version: int

    def __init__(self, answers: Iterable[AnswerOption], *, id: str | None = None) -> None:  # noqa: A002 - Textual's own name for it
        super().__init__(id=id)
        self.answers = tuple(answers)
        self.version = 0
        """Number of times the answers were replaced."""

    def validate_highlighted(self, index: int) -> int:
        return index % len(self.answers)

    def highlight(self, action: str) -> None:
        self.highlighted = next((at for at, each in enumerate(self.answers) if each.action == action), 0)

    def show(self, answers: Iterable[AnswerOption]) -> None:
        """Replace the answers and highlight the first."""
        self.version += 1
        self.answers = tuple(answers)
        self.highlighted = 0
        self.refresh(layout=True)

    def lines(self, width: int) -> list[str]:
        """Return the lines for a width."""
        return ["".join(text for _, text in row) for row in self._rows(width)]

    def action_cursor_up(self) -> None:
        self.highlighted -= 1

    def action_cursor_down(self) -> None:
        self.highlighted += 1

    def action_choose(self) -> None:
        self.post_message(self.Chosen(self.answers[self.highlighted].action, self.version))

    def on_click(self, event: events.Click) -> None:
        rows = self._rows(self.size.width)
        if event.y >= len(rows):
            return
        ends = accumulate(cell_len(text) for _, text in rows[event.y])
        index = next((at for (at, _), end in zip(rows[event.y], ends, strict=True) if event.x < end), None)
        if index is not None:
            self.highlighted = index
            self.action_choose()

    def get_content_height(self, container: Size, viewport: Size, width: int) -> int:
        return len(self._rows(width))

    def render(self) -> Content:
        key = self.get_visual_style("answer-bar--key", partial=True)
        marked = self.get_visual_style("answer-bar--highlighted", partial=True)
        lines = [
            Content.assemble(*(self._drawn(text, key, marked if at == self.highlighted else "") for at, text in row))
            for row in self._rows(self.size.width)
        ]
        return Content("\n").join(lines)

    def _drawn(self, text: str, key_style: object, style: object) -> Content:
        bare = text.rstrip()
        key, _, rest = bare.partition(" ")
        drawn = Content.assemble((key, key_style), f" {rest}").stylize(style)  # pyright: ignore[reportArgumentType]
        return drawn.append(" " * (len(text) - len(bare)))

    def shortened(self) -> frozenset[str]:
        """Return the actions whose short text is shown; none while hidden."""
        if not self.size.width:
            return frozenset()
        texts = [text.rstrip() for row in self._rows(self.size.width) for _, text in row]
        return frozenset(
            each.action for each, text in zip(self.answers, texts, strict=True) if not text.endswith(each.text)
        )

    def _rows(self, width: int) -> list[list[tuple[int, str]]]:
        """Return index and text of the answers per line; the last ones are shortened first."""
        rows: list[list[tuple[int, str]]] = []
        for full in range(len(self.answers), -1, -1):
            texts = [f"{each.key} {each.text if at < full else each.short}" for at, each in enumerate(self.answers)]
            rows = _wrapped(texts, width)
            if len(rows) <= MOST_LINES and max(map(cell_len, texts)) <= width:
                break
        return rows


def _wrapped(texts: Sequence[str], width: int) -> list[list[tuple[int, str]]]:
    """Return index and text of the answers per line, with trailing gaps."""
    rows: list[list[tuple[int, str]]] = [[]]
    used = 0
    for index, text in enumerate(texts):
        size = cell_len(text)
        if used + size > width:
            rows.append([])
            used = 0
        rows[-1].append((index, text + " " * GAP))
        used += size + GAP
    return rows
