"""The conversation, and where there is room for it what is shown beside it."""

from __future__ import annotations

from textual.containers import Container
from textual.events import Resize

WIDE = 120


class Stage(Container):
    """Side by side from `WIDE` columns on, else one under the other."""

    def on_resize(self, event: Resize) -> None:
        self.set_class(event.size.width >= WIDE, "-wide")
