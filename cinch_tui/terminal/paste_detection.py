"""Detection of unbracketed pastes: several lines at once are one text, not one prompt per line."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

from textual.events import Paste

from cinch_tui.terminal.paste_parser import PasteParser

if TYPE_CHECKING:
    from textual.message import Message

LINES = 3
"""Minimum number of lines: more than a user types between two reads, even on a slow connection."""

PATIENCE = 0.05
"""Seconds to wait for the rest of a paste."""

_IN_TEXT = "\r\n\t"


class PasteDetector(PasteParser):
    """Input parser that turns a burst of lines into one paste; `tick` emits it when no more follows."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        super().__init__()
        self._clock = clock
        self._burst = ""
        self._came_at = 0.0

    def feed(self, data: str) -> Iterable[Message]:
        goes_on = bool(self._burst) and self._clock() - self._came_at < PATIENCE
        if not goes_on:
            yield from self._pasted_at_once()
        if not self.is_in_paste and _is_text(data) and (goes_on or _is_many(data)):
            self._burst += data
            self._came_at = self._clock()
            return
        yield from self._pasted_at_once()
        yield from super().feed(data)

    def typed(self, data: str) -> Iterable[Message]:
        """Parse input as single keys, however long it is."""
        return super().feed(data)

    def tick(self) -> Iterable[Message]:
        if self._clock() - self._came_at >= PATIENCE:
            yield from self._pasted_at_once()
        yield from super().tick()

    def _pasted_at_once(self) -> Iterable[Message]:
        burst, self._burst = self._burst, ""
        if burst:
            yield Paste(burst)


def _is_many(data: str) -> bool:
    return data.count("\r") >= LINES - 1 and sum(map(bool, data.split("\r"))) >= LINES


def _is_text(data: str) -> bool:
    return bool(data) and all(letter in _IN_TEXT or letter.isprintable() for letter in data)
