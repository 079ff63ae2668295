"""A file that only grows, by whole lines, and loses none: to no full disk, torn line, deletion, move or second writer,
nor to another program that appends to it or truncates it.

What cannot be written waits in memory, and every later append tries it again first.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from harness.errors import SessionLocked
from harness.session.paths import require_regular

if TYPE_CHECKING:
    from filelock import BaseFileLock

_PART = 1 << 20
_PATIENCE = 0.2  # seconds; listing sessions touches a lock for an instant


class Journal:
    """Appends to one file. `on_problem` hears a sentence when writing begins to fail and when it works again.

    `lost_lines` is called when another program has truncated the file: it returns the lines that are missing, with
    those that wait to be written. Without it, what was cut off stays lost.
    """

    def __init__(
        self, path: Path, on_problem: Callable[[str], None], lost_lines: Callable[[], Sequence[bytes]] | None = None
    ) -> None:
        self.path = path
        self._on_problem = on_problem
        self._lost_lines = lost_lines
        self._waiting: list[bytes] = []
        self._fd: int | None = None
        self._lock: BaseFileLock | None = None
        self._size = 0
        self._ends_line = True
        self._failing = False
        self._worker: ThreadPoolExecutor | None = None
        self._syncing: Future[None] | None = None

    @property
    def size(self) -> int:
        """Bytes that are safely in the file."""
        return self._size

    @property
    def is_saved(self) -> bool:
        """Whether nothing waits for a disk that refuses."""
        return not self._waiting

    def acquire(self) -> None:
        """Become the file's one writer, creating it if need be.

        Raises:
            SessionLocked: another process writes to it.
            OSError: it cannot be opened.
        """
        if self._fd is not None:
            return
        make_private(self.path.parent)
        lock = take_lock(self.path)
        try:
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

    def append(self, data: bytes) -> None:
        """Put whole lines at the end, in one write. Never raises; what fails is told and waits."""
        self._waiting.append(data)
        self.flush()

    def flush(self) -> None:
        """Try again what waits."""
        if not self._waiting:
            return
        try:
            self.acquire()
            self._raise_late_error()
            self._restore_if_gone()
            self._heed_other_writers()
            self._write(b"".join(self._waiting))
        except (OSError, SessionLocked) as error:
            self._tell_failure(error)
            return
        self._waiting.clear()
        if self._failing:
            self._failing = False
            self._on_problem("The session is saved again; nothing of it is missing.")

    def sync(self) -> None:
        """Have the disk confirm what is written, in a thread, so that nobody waits for it."""
        if self._fd is None:
            return
        self._worker = self._worker or ThreadPoolExecutor(1, "session-sync")
        self._syncing = self._worker.submit(os.fsync, self._fd)

    def close(self) -> None:
        """Write and confirm what waits, then let the next writer in. The journal can be used again afterwards."""
        with suppress(OSError):
            self._heed_other_writers()
        self.flush()
        self.sync()
        if self._worker:
            self._worker.shutdown()
            self._worker = None
        try:
            self._raise_late_error()
        except OSError as error:
            self._tell_failure(error)
        self._let_go()

    def _write(self, data: bytes) -> None:
        whole = memoryview(data if self._ends_line else b"\n" + data)
        fd, done = self._descriptor, 0
        try:
            while done < len(whole):
                done += os.write(fd, whole[done:])
        except OSError:
            self._cut_back(fd)
            raise
        self._size += len(whole)
        self._ends_line = True

    def _heed_other_writers(self) -> None:
        """Begin a new line after what another program appended; write again what another program cut off."""
        if self._fd is None:
            return
        size, before = os.fstat(self._fd).st_size, self._size
        if size == before:
            return
        lost = self._lost_lines() if self._lost_lines and size < before else None
        self._note_end(size)
        if size > before:
            return
        if lost is None:
            self._on_problem(f"Another program cut off the end of the session file. ({self.path})")
            return
        self._waiting = list(lost)
        self._on_problem(
            f"Another program cut off the end of the session file; {len(lost)} lines are written again from memory. "
            f"({self.path})"
        )

    def _note_end(self, size: int) -> None:
        self._size = size
        self._ends_line = not size or os.pread(self._descriptor, 1, size - 1) == b"\n"

    def _cut_back(self, fd: int) -> None:
        """Remove the part of a line that a full disk let through."""
        try:
            os.ftruncate(fd, self._size)
        except OSError:
            self._size = os.fstat(fd).st_size
            self._ends_line = False

    def _is_in_place(self) -> bool:
        """Whether the file we hold open still has its name; where nobody may look, it does."""
        try:
            return os.path.samestat(self.path.stat(), os.fstat(self._descriptor))
        except (FileNotFoundError, NotADirectoryError):
            return False
        except OSError:
            return True

    def _restore_if_gone(self) -> None:
        """Write a file that was deleted, moved or replaced anew, from the one we still hold open."""
        if self._is_in_place():
            return
        with suppress(OSError):
            if self._syncing:
                self._syncing.result()
        held, size, lock = self._descriptor, self._size, self._lock
        self._fd = self._lock = None
        if lock:
            lock.release()
        try:
            self.acquire()
            if not self._begins_as(held, size):
                self._copy(held, size)
        except (OSError, SessionLocked):
            self._let_go()
            self._fd, self._size = held, size
            raise
        os.close(held)

    def _begins_as(self, source: int, size: int) -> bool:
        """Whether who replaced the file did so by a copy of it, as programs do that keep folders in step."""
        ours, theirs = _parts(source, size), _parts(self._descriptor, size)
        return self._size >= size and all(part == other for part, other in zip(ours, theirs, strict=True))

    def _copy(self, source: int, size: int) -> None:
        """All of it or nothing."""
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
        """Raise what went wrong in the thread that syncs."""
        if self._syncing and self._syncing.done():
            finished, self._syncing = self._syncing, None
            finished.result()

    def _tell_failure(self, error: OSError | SessionLocked) -> None:
        if not self._failing:
            self._failing = True
            why = error.strerror or str(error) if isinstance(error, OSError) else str(error)
            self._on_problem(f"The session cannot be saved: {why}. It is kept in memory and tried again. ({self.path})")

    def _let_go(self) -> None:
        if self._fd is not None:
            os.close(self._fd)
            self._fd = None
        if self._lock:
            # Unlinked while held: a waiting process sees that its file is gone and takes a new one.
            lock_path(self.path).unlink(missing_ok=True)
            self._lock.release()
            self._lock = None


def _parts(fd: int, size: int) -> Iterator[bytes]:
    for offset in range(0, size, _PART):
        yield os.pread(fd, min(_PART, size - offset), offset)


def lock_path(path: Path) -> Path:
    """Beside the file, with a suffix that readers of `*.jsonl` pass over."""
    return path.with_name(f"{path.name}.lock")


def take_lock(path: Path) -> BaseFileLock:
    """The lock of a session file, held; the system frees it when its process dies.

    Raises:
        SessionLocked: another process holds it.
    """
    # Imported here because nothing before the first paint writes a session.
    from filelock import FileLock, Timeout

    lock = FileLock(lock_path(path), mode=0o600, thread_local=False)
    try:
        lock.acquire(timeout=_PATIENCE, poll_interval=0.02)
    except Timeout as error:
        raise SessionLocked(
            f"session {path.stem} is open in another cinch; close it there, or fork the session with --fork"
        ) from error
    return lock


def is_locked(path: Path) -> bool:
    """Whether some process writes to the session now."""
    if not lock_path(path).exists():
        return False
    from filelock import FileLock, Timeout

    lock = FileLock(lock_path(path), mode=0o600, thread_local=False)
    try:
        lock.acquire(blocking=False)
    except (Timeout, OSError):
        return True
    lock.release()
    return False


def make_private(folder: Path) -> None:
    """Create a folder that only its owner can enter, and those above it that are missing."""
    if not folder.is_dir():
        make_private(folder.parent)
        folder.mkdir(mode=0o700, exist_ok=True)
