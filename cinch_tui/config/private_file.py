"""Files that only their owner may read, replaced whole or not at all."""

from __future__ import annotations

import os
import tempfile
from contextlib import suppress
from pathlib import Path


def write_private(path: Path, text: str) -> None:
    """Replace the file with this text, mode 0600; its folder is made, mode 0700, where it is missing.

    Raises:
        OSError: it could not be written; what was there before is untouched.
    """
    write_private_bytes(path, text.encode())


def write_private_bytes(path: Path, data: bytes) -> None:
    """As `write_private`."""
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    # mkstemp makes the file 0600 from the start: at no moment can another user read it.
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
