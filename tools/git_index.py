"""Copy of a git index, to restore what was staged before a command that failed."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path


class IndexCopy:
    """The index as it is now.

    Args:
        path: The file of the index, which may not exist.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._before = _read(path)

    def restore(self) -> None:
        """Write the index back if it has changed; it stays as it is while another git command holds its lock."""
        now = _read(self._path)
        if now is None or (self._before is not None and now[0] == self._before[0]):
            return
        lock = self._path.with_name(f"{self._path.name}.lock")
        with suppress(OSError):
            with lock.open("xb") as file:
                file.write(self._before[0] if self._before else b"")
            if self._before is None:
                self._path.unlink()
                lock.unlink()
                return
            lock.chmod(self._path.stat().st_mode)
            # git compares the contents of files that are as new as the index, and trusts the times of older ones.
            os.utime(lock, ns=(self._before[1], self._before[1]))
            lock.replace(self._path)


def _read(path: Path) -> tuple[bytes, int] | None:
    """Return content and modification time; None for a file that cannot be read."""
    try:
        with path.open("rb") as file:
            return file.read(), os.fstat(file.fileno()).st_mtime_ns
    except OSError:
        return None
