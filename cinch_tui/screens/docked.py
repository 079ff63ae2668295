"""Dialogs docked at the bottom of the screen; the transcript above stays readable and scrolls."""

from __future__ import annotations

from typing import ClassVar, Generic

from textual import on
from textual.binding import BindingType
from textual.containers import Vertical
from textual.events import MouseScrollDown, MouseScrollUp, Resize
from textual.message import Message

from cinch_tui.keybindings.keymap import bindings
from cinch_tui.screens.dialog import Dialog, ResultT
from cinch_tui.screens.dialog_messages import Covered, ScrollConversation

WHEEL_LINES = 3
MOST_CONVERSATION = 5
"""Rows kept for the transcript; fewer on a low terminal."""
CONVERSATION_HINT = "docked.conversation_up docked.conversation_down conversation"


class DialogFrame(Vertical):
    """Box of a docked dialog."""

    class Resized(Message):
        """The size changed."""

    def on_resize(self, event: Resize) -> None:
        del event
        self.post_message(self.Resized())


class DockedDialog(Dialog[ResultT], Generic[ResultT]):
    """Docked dialog of limited height. It reports the covered rows to the screen below."""

    BINDINGS: ClassVar[list[BindingType]] = [*bindings("docked")]
    VERTICAL_BREAKPOINTS: ClassVar[list[tuple[int, str]] | None] = [(0, "-short"), (17, "-tall"), (36, "-roomy")]

    @property
    def most_rows(self) -> int:
        """Return the maximum height of the dialog."""
        return self.size.height - max(2, min(MOST_CONVERSATION, self.size.height // 4))

    @on(DialogFrame.Resized)
    def report_covered(self) -> None:
        if not self._answered:
            self._below.post_message(Covered(self.query_one("#dialog").outer_size.height))

    def on_unmount(self) -> None:
        # The next dialog of a batch may already be open and have reported its rows.
        screens = self._owner.screen_stack
        if not (screens and isinstance(screens[-1], DockedDialog)):
            for screen in screens:
                screen.post_message(Covered(0))

    def action_scroll_conversation(self, lines: int) -> None:
        self._below.post_message(ScrollConversation(lines))

    def on_mouse_scroll_up(self, event: MouseScrollUp) -> None:
        self._scroll_by_wheel(event, -WHEEL_LINES)

    def on_mouse_scroll_down(self, event: MouseScrollDown) -> None:
        self._scroll_by_wheel(event, WHEEL_LINES)

    def _scroll_by_wheel(self, event: MouseScrollUp | MouseScrollDown, lines: int) -> None:
        if event.screen_y < self.query_one("#dialog").region.y:
            self.action_scroll_conversation(lines)
