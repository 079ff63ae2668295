"""Events for one reader that may lag behind: nothing is lost, and the writer never waits."""

from __future__ import annotations

import asyncio
from collections import deque
from dataclasses import replace

from harness.events import Event, MessageUpdate
from harness.provider import BlockDelta


class Channel:
    """A queue that, once it holds `capacity` events, joins streamed text to the text that waits before it."""

    def __init__(self, capacity: int = 256) -> None:
        self._capacity = capacity
        self._waiting: deque[Event] = deque()
        self._arrived = asyncio.Event()

    def __len__(self) -> int:
        return len(self._waiting)

    def put(self, event: Event) -> None:
        joined = _joined(self._waiting[-1], event) if len(self._waiting) >= self._capacity else None
        if joined is not None:
            self._waiting[-1] = joined
        else:
            self._waiting.append(event)
        self._arrived.set()

    async def get(self) -> Event:
        while not self._waiting:
            self._arrived.clear()
            await self._arrived.wait()
        return self._waiting.popleft()


def _joined(before: Event, after: Event) -> Event | None:
    if not (isinstance(before, MessageUpdate) and isinstance(after, MessageUpdate)):
        return None
    first, second = before.delta, after.delta
    if not (isinstance(first, BlockDelta) and isinstance(second, BlockDelta)):
        return None
    if before.message_id != after.message_id or first.index != second.index:
        return None
    return replace(after, delta=BlockDelta(first.index, first.text + second.text))
