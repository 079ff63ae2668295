"""A screen on which text can be selected, whatever becomes of the text."""

from __future__ import annotations

from typing import TypeVar

from textual.screen import Screen

ResultT = TypeVar("ResultT")


class SelectingScreen(Screen[ResultT]):
    def get_selected_text(self) -> str | None:
        """What is selected; nothing where it is there no more."""
        try:
            return super().get_selected_text()
        except IndexError:
            # Textual looks for lines that a shorter text has not.
            self.clear_selection()
            return None
