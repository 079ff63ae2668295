"""Files with content that tools received, readable by their owner only."""

from __future__ import annotations

import mimetypes
import os
from pathlib import Path


def suffix_of(media_type: str) -> str:
    """Return the suffix of a file of a media type, with its dot."""
    return mimetypes.guess_extension(media_type) or ".bin"


def write_private(path: Path, data: bytes, *, is_new: bool = False) -> None:
    """Write a file that only its owner can read, and create its folders.

    Args:
        path: Path; a symbolic link is not followed.
        data: Content.
        is_new: True to leave an existing file as it is.

    Raises:
        OSError: The file cannot be written, or exists and must not be replaced.
    """
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    flags = os.O_WRONLY | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC | (os.O_EXCL if is_new else os.O_TRUNC)
    with os.fdopen(os.open(path, flags, 0o600), "wb") as file:
        file.write(data)
