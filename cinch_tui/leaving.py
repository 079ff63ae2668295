"""How the app is told to go from outside: politely first, and for certain."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import Callable
from types import FrameType

KILLS = (signal.SIGTERM, signal.SIGHUP, signal.SIGINT)
KILLED = 128
PATIENCE = 2
"""Seconds in which the app must have heard; where it stands still, nothing can be saved by waiting."""

CLOSING = 5
"""Seconds that leaving may take."""


class Kills:
    """Has `leave` called in the event loop; the process ends whether that works or not.

    The signals are heard even while the loop stands still. The guard gives the terminal back when nobody else can.
    """

    def __init__(self, leave: Callable[[], None]) -> None:
        self.status = 0
        """Of the process, when it was killed."""

        self._leave = leave
        self._loop: asyncio.AbstractEventLoop | None = None

    def listen(self) -> None:
        """From here on, in the running loop."""
        self._loop = asyncio.get_running_loop()
        signal.signal(signal.SIGALRM, self._is_late)
        for number in KILLS:
            signal.signal(number, self._heard)

    def _heard(self, number: int, where: FrameType | None) -> None:
        del where
        if self.status or self._loop is None or self._loop.is_closed():
            # Whoever says it twice means now.
            os._exit(KILLED + number)
        self.status = KILLED + number
        signal.alarm(PATIENCE)
        self._loop.call_soon_threadsafe(self._go)

    def _go(self) -> None:
        signal.alarm(PATIENCE + CLOSING)
        self._leave()

    def _is_late(self, number: int, where: FrameType | None) -> None:
        del number, where
        os._exit(self.status)


def has_shell() -> bool:
    """Whether somebody is there who can let us go on when we stop."""
    try:
        return os.getsid(os.getppid()) == os.getsid(0)
    except OSError:
        return False
