"""Interruption of the current turn, so that queued steering messages are delivered at once."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Generator
from contextlib import AbstractContextManager, contextmanager
from typing import Any, TypeVar

from harness.concurrency.threads import Flag

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

    def waiter(self) -> AbstractContextManager[asyncio.Future[None]]:
        """A future that is done once an interruption is requested."""
        return self._flag.waiter()

    # Any: what a coroutine yields and is sent is asyncio's own affair.
    async def guard(self, work: Coroutine[Any, Any, _T]) -> _T | None:
        """Return the result of `work`, or None when an interruption cancelled it."""
        task = asyncio.current_task()
        assert task is not None
        already, cancelled = task.cancelling(), False

        def cancel(_: asyncio.Future[None]) -> None:
            nonlocal cancelled
            cancelled = task.cancel()

        with self.waiter() as request:
            request.add_done_callback(cancel)
            try:
                return await work
            except asyncio.CancelledError:
                if not cancelled or task.cancelling() > already + 1:
                    raise
                return None
            finally:
                request.remove_done_callback(cancel)
                if cancelled:
                    task.uncancel()
