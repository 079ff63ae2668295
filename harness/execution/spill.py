"""Length limit of tool results: head and tail are returned, the full text goes to a spill file."""

from __future__ import annotations

import asyncio
import os
import re
import shutil
import time
from contextlib import suppress
from pathlib import Path
from typing import TextIO

from msgspec.structs import replace

from harness.messages import Text
from harness.ports.tool import ToolOutput
from harness.truncation import truncate

KEPT_SECONDS = 7 * 24 * 3600.0
_INLINE = 1 << 20


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


async def limit_result(output: ToolOutput, limit: int, spill: Path) -> ToolOutput:
    """Truncate a result without blocking the event loop for long; see `limit_result_now`."""
    # Writing much text may take long; for little text, a thread would risk losing the result to a cancellation.
    is_long = sum(len(block.text) for block in output.content if isinstance(block, Text)) > _INLINE
    if is_long:
        return await asyncio.to_thread(limit_result_now, output, limit, spill)
    return limit_result_now(output, limit, spill)


def limit_result_now(output: ToolOutput, limit: int, spill: Path) -> ToolOutput:
    """Truncate the text of a result to `limit` characters, with a note on where the full text is; 0 = unlimited.

    Images are kept. If the file cannot be written, the rest of the text is lost.
    """
    text = "".join(block.text for block in output.content if isinstance(block, Text))
    if limit <= 0 or len(text) <= limit:
        return output
    size, where = len(text.encode("utf-8", "replace")), _spill(text, spill)
    shorter = truncate(text, limit, lambda _: f"[truncated: {size} bytes total; {where}]")
    # One text block in place of the first, and all images.
    first = next(index for index, block in enumerate(output.content) if isinstance(block, Text))
    after = (block for block in output.content[first:] if not isinstance(block, Text))
    return replace(output, content=(*output.content[:first], Text(shorter), *after))


def _spill(text: str, spill: Path) -> str:
    """Write the full text to a file, and return a note on where it is."""
    try:
        with open_spill(spill) as file:
            file.write(text)
    except OSError as error:
        with suppress(OSError):
            spill.unlink(missing_ok=True)
        return f"the full text could not be saved: {error.strerror or error}"
    return f"the full text is in {spill}"
