"""Waiting until an app under test is idle: what `Pilot.press` and `Pilot.pause` wait for.

Textual waits in steps of 20 ms until the process uses almost no CPU time. On a busy machine, that is both slow, since
every key takes two steps or more, and early, since a process that is not scheduled uses no CPU time either. The event
loop knows better: it is idle if no callback is ready and no timer is due soon.
"""

from __future__ import annotations

import asyncio

FRAME_S = 0.02
"""Timers due within this time, such as the next repaint, belong to the work that is waited for."""

THREAD_S = 0.2
"""Longest time for which a thread that works for the event loop is waited for."""

POLL_S = 0.002
"""Interval at which threads and sockets are checked."""


async def wait_for_idle(min_sleep: float = 0.0, max_sleep: float = 1.0) -> None:
    """Wait until the event loop is idle, and, if threads or sockets are active, remains idle for a frame."""
    del min_sleep
    loop = asyncio.get_running_loop()
    busy_at = now = loop.time()
    deadline = now + max_sleep
    while now < deadline:
        await asyncio.sleep(0)
        now = loop.time()
        if loop._ready:
            busy_at = now
        elif (due := _next_timer(loop)) < now + FRAME_S:
            await asyncio.sleep(max(0, due - now))
        elif now < busy_at + _patience(loop):
            await asyncio.sleep(POLL_S)
        else:
            return


def _next_timer(loop: asyncio.AbstractEventLoop) -> float:
    return min((timer.when() for timer in loop._scheduled if not timer.cancelled()), default=float("inf"))


def _patience(loop: asyncio.AbstractEventLoop) -> float:
    """Return for how many seconds a thread, or else a socket or pipe other than the loop's own, is waited for."""
    executor = loop._default_executor
    if executor is not None and executor._idle_semaphore._value < len(executor._threads):
        return THREAD_S
    return FRAME_S if len(loop._selector.get_map()) > 1 else 0.0
