"""How the app is told to go from outside: politely first, and for certain."""

from __future__ import annotations

import asyncio
import os
import signal
import time
from collections.abc import Callable
from types import FrameType

KILLS = (signal.SIGTERM, signal.SIGHUP, signal.SIGINT)
KILLED = 128
PATIENCE = 2
"""Seconds in which the app must have heard; where it stands still, nothing can be saved by waiting."""

AGAIN = 0.5
"""Seconds after which a second kill is meant as one: a terminal that hangs up is noticed in two ways."""

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
        self._since = 0.0

    def listen(self) -> None:
        """From here on, in the running loop."""
        loop = asyncio.get_running_loop()
        signal.signal(signal.SIGALRM, self._is_late)
        for number in KILLS:
            # The loop is woken whichever thread the signal reaches; ours comes first where the loop stands still.
            loop.add_signal_handler(number, self._go, number)
            signal.signal(number, self._heard)

    def _heard(self, number: int, where: FrameType | None) -> None:
        del where
        if self.status and time.monotonic() - self._since > AGAIN:
            # Whoever says it twice means now.
            os._exit(KILLED + number)
        if not self.status:
            self.status, self._since = KILLED + number, time.monotonic()
            signal.alarm(PATIENCE)

    def _go(self, number: int) -> None:
        self.status = self.status or KILLED + number
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
