"""Termination by signals: graceful shutdown with a deadline."""

from __future__ import annotations

import asyncio
import os
import signal
import time
from collections.abc import Callable
from types import FrameType

SIGNALS = (signal.SIGTERM, signal.SIGHUP, signal.SIGINT)
SIGNAL_STATUS = 128
REACTION_TIMEOUT_S = 2
"""Seconds for the app to react; a blocked app cannot save anything by waiting."""

REPEAT_AFTER_S = 0.5
"""Seconds after which a second signal counts: a terminal that hangs up is noticed in two ways."""

SHUTDOWN_TIMEOUT_S = 5
"""Seconds allowed for the shutdown."""


class ShutdownSignals:
    """Calls `leave` in the event loop; the process ends even if that fails.

    Signals are handled even while the loop is blocked. The guard restores the terminal if cinch cannot.
    """

    def __init__(self, leave: Callable[[], None]) -> None:
        self.status = 0
        """Exit status, if the process was killed."""

        self._leave = leave
        self._since = 0.0

    def listen(self) -> None:
        """Install the handlers in the running loop."""
        loop = asyncio.get_running_loop()
        signal.signal(signal.SIGALRM, self._on_timeout)
        for number in SIGNALS:
            # The loop wakes up whichever thread receives the signal; the plain handler also works while the loop is
            # blocked.
            loop.add_signal_handler(number, self._shut_down, number)
            signal.signal(number, self._on_signal)

    def _on_signal(self, number: int, where: FrameType | None) -> None:
        if self.status and time.monotonic() - self._since > REPEAT_AFTER_S:
            # A second signal forces an immediate exit.
            os._exit(SIGNAL_STATUS + number)
        if not self.status:
            self.status, self._since = SIGNAL_STATUS + number, time.monotonic()
            signal.alarm(REACTION_TIMEOUT_S)

    def _shut_down(self, number: int) -> None:
        self.status = self.status or SIGNAL_STATUS + number
        signal.alarm(REACTION_TIMEOUT_S + SHUTDOWN_TIMEOUT_S)
        self._leave()

    def _on_timeout(self, number: int, where: FrameType | None) -> None:
        os._exit(self.status)


def has_shell() -> bool:
    """Return True if a shell can resume cinch after it stops."""
    try:
        return os.getsid(os.getppid()) == os.getsid(0)
    except OSError:
        return False
