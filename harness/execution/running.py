"""The calls that run now, of an agent and of the sub-agents that work for it: each can be stopped alone."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Generator
from contextlib import contextmanager

from harness.concurrency.threads import call_in
from harness.lazy_dataclass import dataclass

CANCELLED = "Cancelled by the user."


@dataclass(frozen=True, slots=True, eq=False)
class _Running:
    call_id: str
    session_id: str
    task: asyncio.Task[object]
    marked: Callable[[], None]


class RunningCalls:
    """Asked from any thread; filled in the one of the event loop."""

    def __init__(self) -> None:
        self._calls: list[_Running] = []
        self._lock = threading.Lock()

    @contextmanager
    def running(self, call_id: str, session_id: str, marked: Callable[[], None]) -> Generator[None]:
        """The current task makes this call; `marked` is called before it is cancelled because a person wants it."""
        task = asyncio.current_task()
        assert task is not None
        call = _Running(call_id, session_id, task, marked)
        with self._lock:
            self._calls.append(call)
        try:
            yield
        finally:
            with self._lock:
                self._calls.remove(call)

    def ids(self, session_id: str) -> frozenset[str]:
        """Return the ids of the calls of that session."""
        with self._lock:
            return frozenset(call.call_id for call in self._calls if call.session_id == session_id)

    def cancel(self, call_id: str, session_id: str = "") -> bool:
        """Stop the call; whether there is one. Where two have the same id, the session tells which; else both stop."""
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
    call.marked()
    call.task.cancel(CANCELLED)
