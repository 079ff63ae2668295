"""Pastes in one piece: Textual's parser reads them letter by letter, and takes half a second for a megabyte."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from textual.events import Paste

from cinch_tui.terminal.background import ReplyParser

if TYPE_CHECKING:
    from textual.message import Message

BEGINS, ENDS = "\x1b[200~", "\x1b[201~"
# Some fields would hand an escape on to the terminal.
_DROPPED = {0: None, 0x1B: None}


class PasteParser(ReplyParser):
    """A paste whose beginning is cut in two is read as Textual reads it."""

    def __init__(self) -> None:
        super().__init__()
        self._pasted: list[str] = []
        # The last of it, in which the end may have begun.
        self._tail: str | None = None

    @property
    def is_in_paste(self) -> bool:
        """Its end has not come yet."""
        return self._tail is not None

    def feed(self, data: str) -> Iterable[Message]:
        if self._tail is None:
            before, begins, data = data.partition(BEGINS)
            if before or not begins:
                yield from super().feed(before)
            if not begins:
                return
            self._tail = ""
        text, ends, after = (self._tail + data).partition(ENDS)
        if not ends:
            kept = len(text) - len(ENDS) + 1
            self._pasted.append(text[: max(0, kept)])
            self._tail = text[max(0, kept) :]
            return
        pasted = "".join([*self._pasted, text])
        self._pasted, self._tail = [], None
        yield Paste(pasted.translate(_DROPPED))
        if after:
            yield from self.feed(after)
