"""Time limit of a conversion in a thread."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterable, Iterator
from typing import TypeVar

T = TypeVar("T")


class TooComplex(Exception):
    """A conversion has taken too long, or its result is no longer needed."""


class Deadline:
    """Time limit that a conversion checks, since a thread cannot be stopped from outside.

    Args:
        seconds: Time from now on.
    """

    def __init__(self, seconds: float) -> None:
        self._end = time.monotonic() + seconds

    def cancel(self) -> None:
        """End the conversion at its next check; may be called from any thread."""
        self._end = 0.0

    def check(self) -> None:
        """Raise `TooComplex` if the time is over."""
        if time.monotonic() > self._end:
            raise TooComplex

    def checked(self, items: Iterable[T]) -> Iterator[T]:
        """Yield items, with a check before each.

        Raises:
            TooComplex: The time is over.
        """
        for item in items:
            self.check()
            yield item


async def in_thread(convert: Callable[[Deadline], T], seconds: float) -> T:
    """Run a conversion in a thread.

    Args:
        convert: The conversion; checks the deadline that it receives.
        seconds: Time limit.

    Raises:
        TooComplex: The time is over.
    """
    deadline = Deadline(seconds)
    try:
        async with asyncio.timeout(seconds):
            return await asyncio.to_thread(convert, deadline)
    except TimeoutError as error:
        raise TooComplex from error
    finally:
        # The thread of a cancelled call would otherwise convert to the end.
        deadline.cancel()
