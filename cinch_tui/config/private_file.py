"""Atomically replaced files that only their owner can read."""

from __future__ import annotations

import os
import tempfile
from contextlib import suppress
from pathlib import Path


def write_private(path: Path, text: str) -> None:
    """Replace a file with this text, mode 0600; create its folder, mode 0700, if it is missing.

    Raises:
        OSError: the file could not be written; the previous content is untouched.
    """
    write_private_bytes(path, text.encode())


def write_private_bytes(path: Path, data: bytes) -> None:
    """Replace a file with these bytes, as `write_private`."""
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    # mkstemp creates the file with mode 0600, so other users can read it at no time.
    handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        Path(temporary).replace(path)
    except BaseException:
        with suppress(OSError):
            Path(temporary).unlink()
        raise
