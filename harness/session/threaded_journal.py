"""Journal that writes in a thread, so that a slow disk does not block the event loop."""

from __future__ import annotations

import asyncio
import logging
import time
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import TypeVar

from harness.session.journal import Journal, LostLines
from harness.session.paths import subagent_path

T = TypeVar("T")

logger = logging.getLogger(__name__)

_WAIT_S = 0.1
"""Seconds that `DiskThread.do` waits while there is work; usually a write takes less than a hundredth of that."""
_PATIENCE_S = 10.0
"""Seconds that an agent waits for the disk before it continues without it."""


class DiskThread:
    """Thread for disk accesses, executed one after another.

    `do` waits for its work, so that a message is in its file before it is displayed, but not longer than users notice:
    together a tenth of a second until there is no work. `drain` waits for all.

    Args:
        on_problem: Receives the problems that are reported in the thread; called by `do`, or in its event loop.
    """

    def __init__(self, on_problem: Callable[[str], None]) -> None:
        self._on_problem = on_problem
        self._problems: deque[str] = deque()
        self._executor: ThreadPoolExecutor | None = None
        self._closer: ThreadPoolExecutor | None = None
        self._last: Future[None] | None = None
        self._late: Future[None] | None = None
        self._busy_since = 0.0

    @property
    def is_idle(self) -> bool:
        """True if no work is left."""
        return self._last is None or self._last.done()

    def report(self, problem: str) -> None:
        """Report a problem from the thread."""
        self._problems.append(problem)

    def do(self, work: Callable[[], object]) -> None:
        """Execute `work` in the thread, after the earlier work; its errors are logged."""
        now = time.monotonic()
        self._busy_since = now if self.is_idle else self._busy_since
        self._last = last = self._submit(partial(_execute, work))
        if (left := self._busy_since + _WAIT_S - now) > 0:
            with suppress(TimeoutError):
                last.result(left)
        if not last.done():
            with suppress(RuntimeError):
                loop = asyncio.get_running_loop()
                last.add_done_callback(lambda _: self._report_in(loop))
        self._report()

    def do_later(self, work: Callable[[], object]) -> None:
        """Execute slow work after the earlier work, in a thread that later work does not wait for."""
        self._closer = closer = self._closer or ThreadPoolExecutor(1, "session-close")
        self.do(lambda: closer.submit(_execute, work))

    def wait_for(self, work: Callable[[], T]) -> T:
        """Return the result of `work`, executed in the thread, or raise its exception."""
        done = self._submit(work)
        try:
            return done.result()
        finally:
            self._report()

    async def drain(self, patience_s: float = _PATIENCE_S) -> None:
        """Wait until all work is done, but no longer than `patience_s` seconds for a disk that does not respond."""
        last = self._last
        if last is None or last.done() or (self._late and not self._late.done()):
            return
        await asyncio.wait([asyncio.wrap_future(last)], timeout=patience_s)
        if not last.done():
            self._late = last
            last.add_done_callback(partial(self._report_recovery, asyncio.get_running_loop()))
            self.report(f"The disk has not responded for {patience_s:g} seconds. The session is kept in memory.")
        self._report()

    def close(self) -> None:
        """Wait for all work and end the thread. It can be used again afterwards."""
        for executor in filter(None, (self._executor, self._closer)):
            executor.shutdown()
        self._executor = self._closer = None
        self._report()

    def _submit(self, work: Callable[[], T]) -> Future[T]:
        self._executor = self._executor or ThreadPoolExecutor(1, "session-disk")
        return self._executor.submit(work)

    def _report_in(self, loop: asyncio.AbstractEventLoop) -> None:
        # The loop may be closed.
        with suppress(RuntimeError):
            loop.call_soon_threadsafe(self._report)

    def _report_recovery(self, loop: asyncio.AbstractEventLoop, _: Future[None]) -> None:
        self.report("The session is saved again; nothing is missing.")
        self._report_in(loop)

    def _report(self) -> None:
        while self._problems:
            self._on_problem(self._problems.popleft())


def _execute(work: Callable[[], object]) -> None:
    try:
        work()
    except Exception:
        logger.exception("a session could not be saved")


class ThreadedJournal:
    """Journal of a session; those of its subagents share its thread.

    Args:
        path: The file.
        on_problem: Receives a message when writing starts to fail and when it works again.
        lost_lines: See `Journal`.
        disk: Thread to share; None: its own.
    """

    def __init__(
        self,
        path: Path,
        on_problem: Callable[[str], None] = logger.warning,
        lost_lines: Callable[[], LostLines] | None = None,
        *,
        disk: DiskThread | None = None,
    ) -> None:
        self._disk = disk or DiskThread(on_problem)
        self._is_shared = disk is not None
        self._journal = Journal(path, self._disk.report, lost_lines)

    @property
    def size(self) -> int:
        """Number of bytes in the file."""
        return self._journal.size

    @property
    def is_saved(self) -> bool:
        """True if no data is waiting to be written."""
        return self._disk.is_idle and self._journal.is_saved

    def acquire(self) -> None:
        """Become the only writer of the file, creating it if necessary.

        Raises:
            SessionLocked: Another process is writing to it.
            OSError: The file cannot be opened.
        """
        self._disk.wait_for(self._journal.acquire)

    def of_subagent(self, agent_id: str) -> ThreadedJournal:
        """Return the journal of a subagent of this session."""
        return ThreadedJournal(subagent_path(self._journal.path, agent_id), disk=self._disk)

    def append(self, data: bytes) -> None:
        """Append whole lines. Never raises; an error is reported and the data kept."""
        self._disk.do(partial(self._journal.append, data))

    def flush(self) -> None:
        """Wait until all data is written, and retry what could not be."""
        self._disk.wait_for(self._journal.flush)

    def sync(self) -> None:
        """Flush written data to disk."""
        self._disk.do(self._journal.sync)

    def execute(self, work: Callable[[], object]) -> None:
        """Execute `work` after all earlier writes; its errors are logged."""
        self._disk.do(work)

    async def drain(self) -> None:
        """Wait until all data is in the file, or kept in memory because it cannot be written now."""
        await self._disk.drain()

    def close(self) -> None:
        """Write and flush all data, then release the file. The journal can be used again afterwards."""
        if self._is_shared:
            # Closing flushes the file to the disk; lines of the session must not wait for that.
            self._disk.do_later(self._journal.close)
        else:
            self._disk.wait_for(self._journal.close)
            self._disk.close()
