"""Queue of messages sent during a run: listed, editable until delivery."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, Literal, TypeAlias

from msgspec import Struct
from textual import events
from textual.content import Content
from textual.geometry import Size
from textual.reactive import var

from cinch_tui.data_message import DataMessage
from cinch_tui.keybindings.keymap import bindings, hint
from cinch_tui.keybindings.prompt_keys import FocusPrompt, PanelKeys
from harness.terminal_text import escape_controls

LONGEST = 240
MOST_ROWS = 4
HINT = (
    "queue.up queue.down choose",
    "queue.edit edit",
    "queue.remove remove",
    "queue.earlier queue.later move",
    "queue.switch delivery",
    "queue.leave back",
)

NEXT = "next"
DELIVERY = "prompt.submit or chat.abort sends it now"

QueueAction: TypeAlias = Literal["edit", "remove", "earlier", "later", "switch"]


class WaitingRow(Struct, frozen=True):
    """A queued message; `kind` is its delivery: next or after the run."""

    id: str
    kind: str
    text: str


class QueueLine(PanelKeys, can_focus=True):
    """One line per message, hidden if empty.

    Messages may be delivered at any moment. If that happens to the selected one, nothing is selected, so that no key
    acts on the wrong message.
    """

    COMPONENT_CLASSES: ClassVar[set[str]] = {"queue-line--chosen"}
    DEFAULT_CSS = """
    QueueLine { height: auto; max-height: 5; padding: 0 1; color: $foreground-muted; display: none; }
    QueueLine.-waiting { display: block; }
    QueueLine:focus { color: $foreground; }
    QueueLine > .queue-line--chosen { background: $primary 25%; text-style: bold; }
    """

    BINDINGS = bindings("queue")

    waiting = var(default=False, toggle_class="-waiting")
    can_send_now = var(default=True)
    """False while no turn can be interrupted to deliver a message."""

    class ActionRequested(DataMessage):
        """Perform an action on a message."""

        action: QueueAction
        id: str

    def __init__(self) -> None:
        super().__init__()
        self.rows: Sequence[WaitingRow] = ()
        self._chosen = ""

    def show(self, rows: Sequence[WaitingRow]) -> None:
        self.rows = rows
        self.waiting = bool(rows)
        self.refresh(layout=True)
        if self.has_focus and not rows:
            self.post_message(FocusPrompt(emptied=True))

    def watch_can_send_now(self) -> None:
        self.refresh()

    def enter(self) -> None:
        """Focus the queue and select the first message."""
        if self.rows:
            self._chosen = self.rows[0].id
            self.focus()

    def choose(self, message_id: str) -> None:
        self._chosen = message_id
        self.refresh()

    def on_focus(self) -> None:
        self.refresh(layout=True)

    def on_blur(self) -> None:
        self._chosen = ""
        self.refresh(layout=True)

    def on_click(self, event: events.Click) -> None:
        offset = event.get_content_offset(self)
        place = self._first + offset.y if offset else len(self.rows)
        if place < len(self.rows):
            self.focus()
            self.choose(self.rows[place].id)

    def action_move(self, by: int) -> None:
        place = self._place
        last = len(self.rows) - 1
        start = -1 if by > 0 else len(self.rows)
        self.choose(self.rows[max(0, min((start if place is None else place) + by, last))].id)

    def action_ask(self, action: QueueAction) -> None:
        place = self._place
        if place is None:
            return
        row = self.rows[place]
        if action == "remove":
            # Select the next message, for repeated removal.
            others = [*self.rows[place + 1 :], *reversed(self.rows[:place])]
            self._chosen = others[0].id if others else ""
        self.post_message(self.ActionRequested(action, row.id))

    @property
    def _place(self) -> int | None:
        return next((place for place, row in enumerate(self.rows) if row.id == self._chosen), None)

    @property
    def _room(self) -> int:
        """Return the rows for messages; a focused queue has an extra row for hints."""
        return max(1, self.content_size.height - (1 if self.has_focus else 0))

    @property
    def _first(self) -> int:
        """Return the first visible row, so that the selected one is visible."""
        return max(0, min((self._place or 0) - self._room // 2, len(self.rows) - self._room))

    def get_content_height(self, container: Size, viewport: Size, width: int) -> int:
        return min(len(self.rows), MOST_ROWS, max(1, viewport.height // 6)) + (1 if self.has_focus else 0)

    def render(self) -> Content:
        if not self.rows:
            return Content()
        width = self.content_size.width
        *shown, last = self.rows[self._first : self._first + self._room]
        below = len(self.rows) - self._first - len(shown) - 1
        count = f"  +{below} more" if below else ""
        count = count or self._delivery(width)
        lines = [*(self._line(row, width) for row in shown), self._line(last, width - len(count)).append(count)]
        keys = [Content(hint(*HINT)).truncate(width, ellipsis=True)] if self.has_focus else []
        return Content("\n").join([*lines, *keys])

    def _delivery(self, width: int) -> str:
        """Return the hint for immediate delivery, if there is room."""
        text = hint(DELIVERY)
        has_steering = self.can_send_now and any(row.kind == NEXT for row in self.rows)
        return f"  {text}" if has_steering and text and not self.has_focus and width >= 2 * len(text) else ""

    def _line(self, row: WaitingRow, width: int) -> Content:
        text = escape_controls(" ".join(row.text[:LONGEST].split()))
        line = Content(f"↳ {row.kind}: {text}").truncate(width, ellipsis=True, pad=True)
        if row.id != self._chosen or not self.has_focus:
            return line
        return line.stylize(self.get_visual_style("queue-line--chosen", partial=True))
