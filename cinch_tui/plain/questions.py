"""Requests of the agent's thread for lines, answered by the thread that reads the input."""

from __future__ import annotations

import asyncio
import threading
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import field

from harness.lazy_dataclass import dataclass


class InputClosed(Exception):
    """The input has ended."""


@dataclass(frozen=True, slots=True, eq=False)
class LineRequest:
    """Request for a line."""

    prompt: str
    opens: bool
    """True for a new question: lines typed before do not answer it."""

    hidden: bool = False
    """True to read without echo."""

    answer: Future[str] = field(default_factory=lambda: Future())


class Questions:
    """Queue of requests; `wake` notifies the reading thread, `withdraw` aborts the line it is reading."""

    def __init__(self, wake: Callable[[], None], withdraw: Callable[[], None]) -> None:
        self._wake = wake
        self._withdraw = withdraw
        self._waiting: deque[LineRequest] = deque()
        self._lock = threading.Lock()

    async def line(self, prompt: str, *, opens: bool = False, hidden: bool = False) -> str:
        """Request a line from the user.

        Raises:
            InputClosed: the input has ended.
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
        """Return the next request that was not cancelled; called by the reading thread."""
        with self._lock:
            while self._waiting:
                asked = self._waiting.popleft()
                if not asked.answer.cancelled():
                    return asked
        return None
