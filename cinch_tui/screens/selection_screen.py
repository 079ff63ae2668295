"""Base screen with robust text selection."""

from __future__ import annotations

from typing import TypeVar

from textual.screen import Screen

ResultT = TypeVar("ResultT")


class SelectingScreen(Screen[ResultT]):
    def get_selected_text(self) -> str | None:
        """Return the selected text; None if it no longer exists."""
        try:
            return super().get_selected_text()
        except IndexError:
            # Textual indexes lines that a shortened text no longer has.
            self.clear_selection()
            return None
