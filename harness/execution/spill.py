"""Spill files for output that is too long to return, and the split into head and tail."""

from __future__ import annotations

import os
import re
import shutil
import time
from contextlib import suppress
from pathlib import Path
from typing import TextIO

HEAD = 0.6
"""Share of the length limit for the head; the tail gets the rest."""

KEPT_SECONDS = 7 * 24 * 3600.0

_LINE_NEAR = 200


def spill_name(kind: str, call_id: str) -> str:
    """Return a safe file name for the output of a call; call ids come from models."""
    return f"{kind}-{re.sub(r'[^A-Za-z0-9_-]', '_', call_id)[:80]}.txt"


def open_spill(path: Path) -> TextIO:
    """Open a file for writing, readable only by its owner, and create its folders.

    Raises:
        OSError: The file cannot be written.
    """
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    return os.fdopen(descriptor, "w", encoding="utf-8", errors="replace", newline="\n")


def forget_old_spills(folder: Path) -> None:
    """Remove subfolders that were unchanged for `KEPT_SECONDS`; errors are ignored."""
    oldest = time.time() - KEPT_SECONDS
    with suppress(OSError):
        for each in list(os.scandir(folder)):
            if each.is_dir(follow_symlinks=False) and each.stat(follow_symlinks=False).st_mtime < oldest:
                shutil.rmtree(each.path, ignore_errors=True)


def at_line_ends(head: str, tail: str) -> tuple[str, str]:
    """Shorten head and tail to line ends if these are near."""
    end = head.rfind("\n", max(0, len(head) - _LINE_NEAR))
    start = tail.find("\n", 0, _LINE_NEAR)
    return head[: end + 1] if end > 0 else head, tail[start + 1 :]


def without_last_break(text: str) -> str:
    """Return `text` without its last line break. Blanks and empty lines are content, which `rstrip` would remove."""
    return text.removesuffix("\n")
