"""Messages from a dialog to the chat screen below it."""

from __future__ import annotations

from textual.message import Message


class TypedAhead(Message):
    """Text typed for the prompt while a dialog stood over it. Posted to the screen below, which has the prompt."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.text = text


class Interrupted(Message):
    """Ctrl+C over a dialog. Posted to the screen below, which knows what is to be stopped."""


class Covered(Message):
    """The number of rows at the lower end of the screen that a docked dialog covers; 0 when it closes."""

    def __init__(self, rows: int) -> None:
        super().__init__()
        self.rows = rows


class ScrollConversation(Message):
    """Scroll the conversation by this many lines, up where negative."""

    def __init__(self, lines: int) -> None:
        super().__init__()
        self.lines = lines
