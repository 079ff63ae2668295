"""Container of the transcript and the panel area."""

from __future__ import annotations

from textual.containers import Container
from textual.events import Resize

WIDE = 120
SHORT = 9
TINY = 4


class Stage(Container):
    """Arranges both side by side from `WIDE` columns on, else on top of each other.

    Below the transcript, an unfocused panel shrinks to one line if there are fewer than `SHORT` rows, and is hidden
    below `TINY` rows: the transcript has priority.
    """

    def on_resize(self, event: Resize) -> None:
        is_wide = event.size.width >= WIDE
        self.set_class(is_wide, "-wide")
        self.set_class(not is_wide and event.size.height < SHORT, "-short")
        self.set_class(not is_wide and event.size.height < TINY, "-tiny")
