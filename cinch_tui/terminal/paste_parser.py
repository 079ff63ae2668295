"""Fast parsing of bracketed pastes: Textual's parser reads them by character, half a second per megabyte."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from textual.events import Paste

from cinch_tui.terminal.background import ReplyParser

if TYPE_CHECKING:
    from textual.message import Message

BEGINS, ENDS = "\x1b[200~", "\x1b[201~"
# Some widgets would write an escape character to the terminal.
_DROPPED = {0: None, 0x1B: None}


class PasteParser(ReplyParser):
    """Input parser for bracketed pastes. A start marker split across two reads is left to Textual."""

    def __init__(self) -> None:
        super().__init__()
        self._pasted: list[str] = []
        # The last characters read, which may begin the end marker.
        self._tail: str | None = None

    @property
    def is_in_paste(self) -> bool:
        """Return True until the end of a paste was read."""
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
