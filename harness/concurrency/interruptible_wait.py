"""Waits before a model is asked again, which a person may cut short."""

from __future__ import annotations

import asyncio


class InterruptibleWait:
    """All waits of an agent and of its sub-agents, which have the same one."""

    def __init__(self) -> None:
        self._waits: set[asyncio.Event] = set()

    async def wait(self, seconds: float) -> None:
        """Return after so many seconds, or when `cut` is called."""
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
        """End the waits that are on; whether there were any."""
        for is_cut in self._waits:
            is_cut.set()
        return bool(self._waits)
