"""Lines that the agent's side waits for, handed to the thread that reads them."""

from __future__ import annotations

import asyncio
import threading
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import field

from harness.lazy_dataclass import dataclass


class InputClosed(Exception):
    """The input has ended: nothing will be answered any more."""


@dataclass(frozen=True, slots=True, eq=False)
class LineRequest:
    """A line that is wanted, behind this prompt. `opens`: the question is new, so nothing typed before is meant for
    it. `hidden`: the line is typed without an echo."""

    prompt: str
    opens: bool
    hidden: bool = False
    answer: Future[str] = field(default_factory=lambda: Future())


class Questions:
    """`wake` tells the reading thread that something waits, `withdraw` that it need not read on."""

    def __init__(self, wake: Callable[[], None], withdraw: Callable[[], None]) -> None:
        self._wake = wake
        self._withdraw = withdraw
        self._waiting: deque[LineRequest] = deque()
        self._lock = threading.Lock()

    async def line(self, prompt: str, *, opens: bool = False, hidden: bool = False) -> str:
        """The line that the user types; `hidden`: without an echo.

        Raises:
            NobodyThere: the input has ended.
        """
        asked = LineRequest(prompt, opens, hidden)
        with self._lock:
            self._waiting.append(asked)
        self._wake()
        try:
            return await asyncio.wrap_future(asked.answer)
        except asyncio.CancelledError:
            asked.answer.cancel()
            self._withdraw()
            raise

    def next(self) -> LineRequest | None:
        """The next that is still wanted; called by the reading thread."""
        with self._lock:
            while self._waiting:
                asked = self._waiting.popleft()
                if not asked.answer.cancelled():
                    return asked
        return None
