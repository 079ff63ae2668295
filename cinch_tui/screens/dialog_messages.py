"""Messages from a dialog to the chat screen below it."""

from __future__ import annotations

from textual.message import Message


class TypedAhead(Message):
    """Text typed for the prompt while a dialog was open."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.text = text


class Interrupted(Message):
    """Ctrl+C in a dialog; the screen below decides what to stop."""


class Covered(Message):
    """Number of rows at the bottom that a docked dialog covers; 0 when it closes."""

    def __init__(self, rows: int) -> None:
        super().__init__()
        self.rows = rows


class ScrollConversation(Message):
    """Scroll the transcript by this many lines; negative: up."""

    def __init__(self, lines: int) -> None:
        super().__init__()
        self.lines = lines
