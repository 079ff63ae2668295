"""Registry of the running calls of an agent and its subagents, each of which can be cancelled separately."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Generator
from contextlib import contextmanager

from msgspec import Struct

from harness.concurrency import call_in

CANCELLED = "Cancelled by the user."


class _Running(Struct, eq=False, frozen=True):
    call_id: str
    session_id: str
    task: asyncio.Task[object]
    on_cancel: Callable[[], None]


class RunningCalls:
    """Running calls. Queried from any thread; filled in the thread of the event loop."""

    def __init__(self) -> None:
        self._calls: list[_Running] = []
        self._lock = threading.Lock()

    @contextmanager
    def running(self, call_id: str, session_id: str, on_cancel: Callable[[], None]) -> Generator[None]:
        """Register the current task as this call; `on_cancel` is called before the user's cancellation."""
        task = asyncio.current_task()
        assert task is not None
        call = _Running(call_id, session_id, task, on_cancel)
        with self._lock:
            self._calls.append(call)
        try:
            yield
        finally:
            with self._lock:
                self._calls.remove(call)

    def ids(self, session_id: str) -> frozenset[str]:
        """Return the ids of the running calls of a session."""
        with self._lock:
            return frozenset(call.call_id for call in self._calls if call.session_id == session_id)

    def cancel(self, call_id: str, session_id: str = "") -> bool:
        """Cancel a call. Return False if it is not running. `session_id` selects among calls with the same id."""
        with self._lock:
            wanted = [
                call
                for call in self._calls
                if call.call_id == call_id and session_id in ("", call.session_id) and not call.task.done()
            ]
        for call in wanted:
            call_in(call.task.get_loop(), lambda call=call: _stop(call))
        return bool(wanted)


def _stop(call: _Running) -> None:
    call.on_cancel()
    call.task.cancel(CANCELLED)
