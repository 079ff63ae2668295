"""Waits before a retry, which the user may cut short."""

from __future__ import annotations

import asyncio


class InterruptibleWait:
    """The waits of an agent and its subagents, which share one instance."""

    def __init__(self) -> None:
        self._waits: set[asyncio.Event] = set()

    async def wait(self, seconds: float) -> None:
        """Wait for `seconds`, or until `cut` is called."""
        is_cut = asyncio.Event()
        self._waits.add(is_cut)
        try:
            async with asyncio.timeout(seconds):
                await is_cut.wait()
        except TimeoutError:
            return
        finally:
            self._waits.discard(is_cut)

    def cut(self) -> bool:
        """End all current waits. Return False if there were none."""
        for is_cut in self._waits:
            is_cut.set()
        return bool(self._waits)
