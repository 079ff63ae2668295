"""Dialogs of a run, docked at the lower end of the screen: the conversation above them stays readable and scrolls."""

from __future__ import annotations

from typing import ClassVar, Generic

from textual import on
from textual.binding import BindingType
from textual.containers import Vertical
from textual.events import MouseScrollDown, MouseScrollUp, Resize
from textual.message import Message

from cinch_tui.keys.keymap import bindings
from cinch_tui.screens.dialog import Dialog, ResultT
from cinch_tui.screens.to_the_chat import Covered, ScrollConversation

WHEEL_LINES = 3
MOST_CONVERSATION = 5
"""Rows that are kept for the conversation, fewer on a low screen."""
CONVERSATION_HINT = "docked.conversation_up docked.conversation_down conversation"


class DialogFrame(Vertical):
    """The box of a docked dialog."""

    class Resized(Message):
        """Its size changed."""

    def on_resize(self, event: Resize) -> None:
        del event
        self.post_message(self.Resized())


class DockedDialog(Dialog[ResultT], Generic[ResultT]):
    """Takes the rows that it needs, leaving some to the conversation; the screen below is notified which it covers."""

    BINDINGS: ClassVar[list[BindingType]] = [*bindings("docked")]
    VERTICAL_BREAKPOINTS: ClassVar[list[tuple[int, str]] | None] = [(0, "-short"), (17, "-tall"), (36, "-roomy")]

    @property
    def most_rows(self) -> int:
        """Rows that the dialog may take."""
        return self.size.height - max(2, min(MOST_CONVERSATION, self.size.height // 4))

    @on(DialogFrame.Resized)
    def report_covered(self) -> None:
        if not self._answered:
            self._below.post_message(Covered(self.query_one("#dialog").outer_size.height))

    def on_unmount(self) -> None:
        # The next dialog of a batch may be open before this one is gone, and has reported its own rows by then.
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
