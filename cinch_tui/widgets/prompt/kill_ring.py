"""Kill ring of the prompt."""

from __future__ import annotations

from collections import deque

MAX_KILLS = 60


class KillRing:
    def __init__(self) -> None:
        self._kills: deque[str] = deque(maxlen=MAX_KILLS)

    def keep(self, text: str) -> None:
        self._kills.append(text)

    def join(self, text: str, *, before: bool) -> None:
        """Extend the latest text: consecutive kills form one text."""
        latest = self._kills.pop() if self._kills else ""
        self._kills.append(text + latest if before else latest + text)

    @property
    def latest(self) -> str:
        return self._kills[-1] if self._kills else ""

    def turn(self) -> str:
        """Rotate the ring; return the new latest text."""
        self._kills.rotate(1)
        return self.latest
