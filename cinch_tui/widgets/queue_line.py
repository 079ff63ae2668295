"""What was typed while the agent works and has not reached it yet."""

from __future__ import annotations

from collections.abc import Sequence

from rich.text import Text
from textual.reactive import var
from textual.widgets import Static

LONGEST = 120


class QueueLine(Static):
    """One line a message, hidden when there is none."""

    DEFAULT_CSS = """
    QueueLine { height: auto; max-height: 4; padding: 0 1; color: $foreground-muted; display: none; }
    QueueLine.-waiting { display: block; }
    """

    waiting = var(default=False, toggle_class="-waiting")

    def show(self, messages: Sequence[tuple[str, str]]) -> None:
        """Show these messages: what each is ("next", "afterwards") and its text."""
        self.waiting = bool(messages)
        lines = [f"↳ {kind}: {' '.join(text.split())}" for kind, text in messages]
        self.update(Text("\n".join(line[:LONGEST] for line in lines), no_wrap=True, overflow="ellipsis"))
