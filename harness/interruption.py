"""Interruption of the current turn, so that queued steering messages are delivered at once."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Generator
from contextlib import contextmanager
from typing import Any, TypeVar

from harness.stopping import stop_tasks
from harness.threads import Flag

_T = TypeVar("_T")


class Interruption:
    """A request to cut the current turn short. Requested from any thread; accepted only while a run takes turns."""

    def __init__(self) -> None:
        self._flag = Flag(is_raised=False)
        self._is_accepted = False

    def __bool__(self) -> bool:
        """True from the request until the turn is over."""
        return bool(self._flag)

    @contextmanager
    def accepted(self) -> Generator[None]:
        """Accept requests in this block; one that came earlier does not count."""
        self.withdraw()
        self._is_accepted = True
        try:
            yield
        finally:
            self._is_accepted = False
            self.withdraw()

    def request(self) -> bool:
        """Interrupt the turn. Returns False when there is none."""
        if self._is_accepted:
            self._flag.lift()
        return self._is_accepted

    def withdraw(self) -> None:
        """The turn that it was meant for is over."""
        self._flag.drop()

    async def wait(self) -> None:
        """Return once an interruption is requested."""
        await self._flag.wait()

    # Any: what a coroutine yields and is sent is asyncio's own affair.
    async def guard(self, work: Coroutine[Any, Any, _T]) -> _T | None:
        """Return what `work` comes to, or None when it was interrupted; then it was cancelled, and has stopped."""
        task, request = asyncio.create_task(work), asyncio.create_task(self.wait())
        try:
            await asyncio.wait([task, request], return_when=asyncio.FIRST_COMPLETED)
        finally:
            await stop_tasks([task, request])
        return None if task.cancelled() and self else task.result()
