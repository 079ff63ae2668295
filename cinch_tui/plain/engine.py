"""Thread with the agent's event loop; the main thread reads the input."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Coroutine
from concurrent.futures import Future
from typing import Any, TypeVar

T = TypeVar("T")


class AgentThread:
    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        # A thread that hangs must not keep the process.
        self._thread = threading.Thread(target=self._turn, name="agent", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def submit(self, work: Coroutine[Any, Any, T]) -> Future[T]:
        """Run a coroutine in the thread; callable from any thread."""
        return asyncio.run_coroutine_threadsafe(work, self._loop)

    def call(self, function: Callable[[], object]) -> None:
        """Call a function in the thread; callable from any thread."""
        self._loop.call_soon_threadsafe(function)

    def stop(self) -> None:
        self.call(self._loop.stop)
        self._thread.join(timeout=1)

    def _turn(self) -> None:
        asyncio.set_event_loop(self._loop)
        self._loop.run_forever()
