"""What a dialog tells the chat below it."""

from __future__ import annotations

from textual.message import Message


class TypedAhead(Message):
    """Text typed for the prompt while a dialog stood over it. Posted to the screen below, which has the prompt."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.text = text


class Interrupted(Message):
    """Ctrl+C over a dialog. Posted to the screen below, which knows what is to be stopped."""
