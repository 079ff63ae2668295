"""What was cut by the keys that cut, latest last: to be brought back in turn."""

from __future__ import annotations

from collections import deque

MAX_KILLS = 60


class KillRing:
    def __init__(self) -> None:
        self._kills: deque[str] = deque(maxlen=MAX_KILLS)

    def keep(self, text: str) -> None:
        self._kills.append(text)

    def join(self, text: str, *, before: bool) -> None:
        """Put it to the latest one, before or behind it: keys that cut one after another cut one text."""
        latest = self._kills.pop() if self._kills else ""
        self._kills.append(text + latest if before else latest + text)

    @property
    def latest(self) -> str:
        return self._kills[-1] if self._kills else ""

    def turn(self) -> str:
        """The one before the latest, which is the latest from now on."""
        self._kills.rotate(1)
        return self.latest
