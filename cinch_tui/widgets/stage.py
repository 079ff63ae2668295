"""The conversation, and where there is room for it what is shown beside it."""

from __future__ import annotations

from textual.containers import Container
from textual.events import Resize

WIDE = 120
SHORT = 9
TINY = 4


class Stage(Container):
    """Side by side from `WIDE` columns on, else one under the other.

    Under the conversation a panel without the keys is one line where there are fewer than `SHORT`, and none where there
    are fewer than `TINY`: what is said comes first.
    """

    def on_resize(self, event: Resize) -> None:
        is_wide = event.size.width >= WIDE
        self.set_class(is_wide, "-wide")
        self.set_class(not is_wide and event.size.height < SHORT, "-short")
        self.set_class(not is_wide and event.size.height < TINY, "-tiny")
