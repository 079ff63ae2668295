"""Parsing of pastes: bracketed ones fast, and unbracketed ones as one text instead of one prompt per line."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable

from textual.events import Paste
from textual.message import Message

from cinch_tui.terminal.background import ReplyParser

BEGINS, ENDS = "\x1b[200~", "\x1b[201~"
# Some widgets would write an escape character to the terminal.
_DROPPED = {0: None, 0x1B: None}


class PasteParser(ReplyParser):
    """Input parser for bracketed pastes. A start marker split across two reads is left to Textual."""

    def __init__(self) -> None:
        super().__init__()
        self._pasted: list[str] = []
        # The last characters read, which may begin the end marker; None outside of a paste.
        self._tail: str | None = None

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


LINES = 3
"""Minimum number of lines: more than a user types between two reads, even on a slow connection."""

PASTE_TIMEOUT_S = 0.05
"""Seconds to wait for the rest of a paste."""

_IN_TEXT = "\r\n\t"


class PasteDetector(PasteParser):
    """Input parser that turns a burst of lines into one paste; `tick` emits it when no more follows."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        super().__init__()
        self._clock = clock
        self._burst = ""
        self._received_at = 0.0

    def feed(self, data: str) -> Iterable[Message]:
        continues = bool(self._burst) and self._clock() - self._received_at < PASTE_TIMEOUT_S
        if not continues:
            yield from self._flush()
        if self._tail is None and _is_text(data) and (continues or _is_many(data)):
            self._burst += data
            self._received_at = self._clock()
            return
        yield from self._flush()
        yield from super().feed(data)

    def feed_keys(self, data: str) -> Iterable[Message]:
        """Parse input as single keys, however long it is."""
        return super().feed(data)

    def tick(self) -> Iterable[Message]:
        if self._clock() - self._received_at >= PASTE_TIMEOUT_S:
            yield from self._flush()
        yield from super().tick()

    def _flush(self) -> Iterable[Message]:
        burst, self._burst = self._burst, ""
        if burst:
            yield Paste(burst)


def _is_many(data: str) -> bool:
    return data.count("\r") >= LINES - 1 and sum(map(bool, data.split("\r"))) >= LINES


def _is_text(data: str) -> bool:
    return bool(data) and all(letter in _IN_TEXT or letter.isprintable() for letter in data)
