"""Speaking to an event loop from any thread."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable


def call_in(loop: asyncio.AbstractEventLoop, work: Callable[[], object]) -> None:
    """Do `work` in that loop: at once when called from it, as soon as it can otherwise, and not at all when the loop
    is closed."""
    if _is_running_here(loop):
        work()
        return
    with contextlib.suppress(RuntimeError):
        loop.call_soon_threadsafe(work)


def _is_running_here(loop: asyncio.AbstractEventLoop) -> bool:
    try:
        return asyncio.get_running_loop() is loop
    except RuntimeError:
        return False
