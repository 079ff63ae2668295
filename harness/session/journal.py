"""Append-only session file that loses no line.

It survives a full disk, a torn line, deletion, moving, a second writer, and other programs that append or truncate.

Data that cannot be written is kept in memory and retried at every later append.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from harness.errors import SessionLocked
from harness.session.paths import LOCK_SUFFIX, require_regular

if TYPE_CHECKING:
    from filelock import BaseFileLock

_PART = 1 << 20
_END = 64
_LOCK_TIMEOUT_S = 0.2  # seconds; listing sessions touches a lock for an instant


class LostLines(NamedTuple):
    """Lines that another program removed from the file."""

    lines: Sequence[bytes] = ()
    """The lines as far as they are in memory, with those not yet written."""
    shortened: int = 0
    """Number of messages of which only the beginning is in memory."""

    def describe(self) -> str:
        """Return the part of a report on what is restored."""
        short = f" (long messages of which only the beginning is left: {self.shortened})" if self.shortened else ""
        return f"{len(self.lines)} lines are restored from memory{short}"


class Journal:
    """Appends whole lines to one file.

    Args:
        path: The file.
        on_problem: Receives a message when writing starts to fail and when it works again.
        lost_lines: Called if another program truncated or rewrote the file; returns what is missing. Without it, such
            lines stay lost.
    """

    def __init__(
        self, path: Path, on_problem: Callable[[str], None], lost_lines: Callable[[], LostLines] | None = None
    ) -> None:
        self.path = path
        self._on_problem = on_problem
        self._lost_lines = lost_lines
        self._pending: list[bytes] = []
        self._fd: int | None = None
        self._lock: BaseFileLock | None = None
        self._size = 0
        self._end = b""
        """Last bytes of the file, by which a rewritten one is recognized."""
        self._failing = False
        self._worker: ThreadPoolExecutor | None = None
        self._syncing: Future[None] | None = None
        self._new_in: list[Path] = []
        """Folders with a new entry, which is lost in a power failure until the folder is flushed."""

    @property
    def size(self) -> int:
        """Number of bytes in the file."""
        return self._size

    @property
    def is_saved(self) -> bool:
        """True if no data is waiting to be written."""
        return not self._pending

    def acquire(self) -> None:
        """Become the only writer of the file, creating it if necessary.

        Raises:
            SessionLocked: Another process is writing to it.
            OSError: The file cannot be opened.
        """
        if self._fd is not None:
            return
        new_in = make_private(self.path.parent)
        lock = take_lock(self.path)
        try:
            is_new = not self.path.exists()
            self._fd = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_NONBLOCK, 0o600)
            require_regular(self._fd)
            self._note_end(os.fstat(self._fd).st_size)
        except OSError:
            if self._fd is not None:
                os.close(self._fd)
                self._fd = None
            lock.release()
            raise
        self._lock = lock
        self._new_in += [*new_in, self.path.parent] if is_new else new_in

    def append(self, data: bytes) -> None:
        """Append whole lines in one write. Never raises; an error is reported and the data kept."""
        self._pending.append(data)
        self.flush()

    def flush(self) -> None:
        """Retry data that could not be written."""
        if not self._pending:
            return
        try:
            self.acquire()
            self._raise_late_error()
            self._restore_if_gone()
            self._check_other_writers()
            self._write(b"".join(self._pending))
        except (OSError, SessionLocked) as error:
            self._report_failure(error)
            return
        self._pending.clear()
        if self._failing:
            self._failing = False
            self._on_problem("The session is saved again; nothing is missing.")

    def sync(self) -> None:
        """Flush written data to disk, in a thread, with the folder of a new file."""
        if self._fd is None:
            return
        self._worker = self._worker or ThreadPoolExecutor(1, "session-sync")
        self._syncing = self._worker.submit(_flush_to_disk, self._fd, self._new_in)
        self._new_in = []

    def close(self) -> None:
        """Write and flush all data, then release the file. The journal can be used again afterwards."""
        with suppress(OSError):
            self._check_other_writers()
        self.flush()
        self.sync()
        if self._worker:
            self._worker.shutdown()
            self._worker = None
        try:
            self._raise_late_error()
        except OSError as error:
            self._report_failure(error)
        self._release()

    def _write(self, data: bytes) -> None:
        data = data if self._ends_line else b"\n" + data
        remaining = memoryview(data)
        fd, done = self._descriptor, 0
        try:
            while done < len(remaining):
                done += os.write(fd, remaining[done:])
        except OSError:
            self._cut_back(fd)
            raise
        self._size += len(remaining)
        self._end = (self._end + data[-_END:])[-_END:]

    def _check_other_writers(self) -> None:
        """Start a new line after data of another program; write again what another program removed."""
        if self._fd is None:
            return
        size, before = os.fstat(self._fd).st_size, self._size
        if size == before:
            return
        is_appended = size > before and self._end_at(before) == self._end
        lost = self._lost_lines() if self._lost_lines and not is_appended else None
        self._note_end(size)
        if is_appended:
            return
        change = f"Another program {'truncated' if size < before else 'rewrote'} the session file"
        if lost is None:
            self._on_problem(f"{change}. ({self.path})")
            return
        self._pending = list(lost.lines)
        self._on_problem(f"{change}; {lost.describe()}. ({self.path})")

    def _note_end(self, size: int) -> None:
        self._size = size
        self._end = self._end_at(size)

    def _end_at(self, size: int) -> bytes:
        """Return the last bytes of the first `size`."""
        start = max(0, size - _END)
        return os.pread(self._descriptor, size - start, start)

    @property
    def _ends_line(self) -> bool:
        return self._end[-1:] in (b"", b"\n")

    def _cut_back(self, fd: int) -> None:
        """Remove the partial line that was written before the disk was full."""
        with suppress(OSError):
            os.ftruncate(fd, self._size)
        self._note_end(os.fstat(fd).st_size)

    def _is_in_place(self) -> bool:
        """Return True if the open file still has its path, or if that cannot be checked."""
        try:
            return os.path.samestat(self.path.stat(), os.fstat(self._descriptor))
        except (FileNotFoundError, NotADirectoryError):
            return False
        except OSError:
            return True

    def _restore_if_gone(self) -> None:
        """Recreate a file that was deleted, moved or replaced from the one that is still open."""
        if self._is_in_place():
            return
        with suppress(OSError):
            if self._syncing:
                self._syncing.result()
        old_fd, size, end, lock = self._descriptor, self._size, self._end, self._lock
        self._fd = self._lock = None
        if lock:
            lock.release()
        try:
            self.acquire()
            if not self._begins_as(old_fd, size):
                self._copy(old_fd, size)
        except (OSError, SessionLocked):
            self._release()
            self._fd, self._size, self._end = old_fd, size, end
            raise
        os.close(old_fd)

    def _begins_as(self, source: int, size: int) -> bool:
        """Return True if the replacement of the file is a copy of it, as made by file synchronization programs."""
        ours, theirs = _parts(source, size), _parts(self._descriptor, size)
        return self._size >= size and all(part == other for part, other in zip(ours, theirs, strict=True))

    def _copy(self, source: int, size: int) -> None:
        """Copy the whole file or nothing."""
        start = self._size
        try:
            for part in _parts(source, size):
                self._write(part)
        except OSError:
            self._size = start
            self._cut_back(self._descriptor)
            raise

    @property
    def _descriptor(self) -> int:
        if self._fd is None:
            raise OSError("the session file is not open")
        return self._fd

    def _raise_late_error(self) -> None:
        """Raise an error of the sync thread."""
        if self._syncing and self._syncing.done():
            finished, self._syncing = self._syncing, None
            finished.result()

    def _report_failure(self, error: OSError | SessionLocked) -> None:
        if not self._failing:
            self._failing = True
            why = error.strerror or str(error) if isinstance(error, OSError) else str(error)
            self._on_problem(f"The session cannot be saved: {why}. It is kept in memory and retried. ({self.path})")

    def _release(self) -> None:
        if self._fd is not None:
            os.close(self._fd)
            self._fd = None
        if self._lock:
            # Unlinked while locked: a waiting process sees that its file is gone and takes a new one.
            lock_path(self.path).unlink(missing_ok=True)
            self._lock.release()
            self._lock = None


def _flush_to_disk(fd: int, folders: Sequence[Path]) -> None:
    """Flush the content of a file, then the entries of folders."""
    os.fsync(fd)
    for folder in folders:
        # Some file systems cannot flush folders; the data itself is on disk.
        with suppress(OSError):
            folder_fd = os.open(folder, os.O_RDONLY)
            try:
                os.fsync(folder_fd)
            finally:
                os.close(folder_fd)


def _parts(fd: int, size: int) -> Iterator[bytes]:
    for offset in range(0, size, _PART):
        yield os.pread(fd, min(_PART, size - offset), offset)


def lock_path(path: Path) -> Path:
    """Return the lock file, with a suffix that readers of `*.jsonl` skip."""
    return path.with_name(f"{path.name}{LOCK_SUFFIX}")


def take_lock(path: Path, timeout_s: float = _LOCK_TIMEOUT_S) -> BaseFileLock:
    """Acquire the lock of a session file; the system releases it if the process dies.

    Raises:
        SessionLocked: Another process holds it.
    """
    # Imported late: nothing before the first paint writes a session.
    from filelock import FileLock, Timeout

    lock = FileLock(lock_path(path), mode=0o600, thread_local=False)
    try:
        lock.acquire(timeout=timeout_s, poll_interval=0.02)
    except Timeout as error:
        raise SessionLocked(
            f"session {path.stem} is open in another cinch; close it there, or fork the session with --fork"
        ) from error
    return lock


def is_locked(path: Path) -> bool:
    """Return True if a process is writing to the session."""
    try:
        if lock_path(path).exists():
            take_lock(path, timeout_s=0).release()
    except (SessionLocked, OSError):
        return True
    return False


def make_private(folder: Path) -> list[Path]:
    """Create a folder that only its owner can access, with its missing parents.

    Returns:
        The folders that have a new entry.
    """
    if folder.is_dir():
        return []
    new_in = make_private(folder.parent)
    folder.mkdir(mode=0o700, exist_ok=True)
    return [*new_in, folder.parent]
