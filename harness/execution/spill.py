"""Files for what is too long to hand back, and the head and tail that are handed back instead."""

from __future__ import annotations

import os
import re
import shutil
import time
from contextlib import suppress
from pathlib import Path
from typing import TextIO

HEAD = 0.6
"""The share of the room that the beginning gets; the end gets the rest."""

KEPT_SECONDS = 7 * 24 * 3600.0

_LINE_NEAR = 200


def spill_name(kind: str, call_id: str) -> str:
    """A file's name for what a call gave; ids come from models."""
    return f"{kind}-{re.sub(r'[^A-Za-z0-9_-]', '_', call_id)[:80]}.txt"


def open_spill(path: Path) -> TextIO:
    """Open a file anew, with the folders that it needs. It may hold what only its owner should read.

    Raises:
        OSError: the disk is full, or the folder cannot be written to.
    """
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    return os.fdopen(descriptor, "w", encoding="utf-8", errors="replace", newline="\n")


def forget_old_spills(folder: Path) -> None:
    """Remove the folders in it to which nothing was added for `KEPT_SECONDS`; what cannot be removed stays."""
    oldest = time.time() - KEPT_SECONDS
    with suppress(OSError):
        for each in list(os.scandir(folder)):
            if each.is_dir(follow_symlinks=False) and each.stat(follow_symlinks=False).st_mtime < oldest:
                shutil.rmtree(each.path, ignore_errors=True)


def at_line_ends(head: str, tail: str) -> tuple[str, str]:
    """Head and tail cut at line ends where these are near."""
    end = head.rfind("\n", max(0, len(head) - _LINE_NEAR))
    start = tail.find("\n", 0, _LINE_NEAR)
    return head[: end + 1] if end > 0 else head, tail[start + 1 :]


def without_last_break(text: str) -> str:
    """Return `text` without its last line break. Blanks and empty lines are content: `rstrip` would lose them."""
    return text.removesuffix("\n")
