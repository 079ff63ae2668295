"""Keeps a result short: the head and tail of its text are handed back, the whole goes to a file."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

from harness.execution.spill import HEAD, at_line_ends, open_spill, without_last_break
from harness.messages import Text, UserContent
from harness.ports.tool import ToolOutput

_INLINE = 1 << 20


async def limit_result(output: ToolOutput, limit: int, spill: Path) -> ToolOutput:
    """As `capped_now`, without blocking the event loop for long."""
    # A disk may take long over much; over little, a result that is there must not be lost to an interruption.
    is_long = sum(len(block.text) for block in output.content if isinstance(block, Text)) > _INLINE
    return await asyncio.to_thread(capped_now, output, limit, spill) if is_long else capped_now(output, limit, spill)


def capped_now(output: ToolOutput, limit: int, spill: Path) -> ToolOutput:
    """The output with at most `limit` characters of its text, and a note that says where all of it is; 0: as it is.

    Pictures stay. A file that cannot be written costs nothing but the rest of the text.
    """
    whole = "".join(block.text for block in output.content if isinstance(block, Text))
    if limit <= 0 or len(whole) <= limit:
        return output
    return replace(output, content=_with_text(output.content, _cut(whole, limit, _spilled(whole, spill))))


def _cut(whole: str, limit: int, where: str) -> str:
    room = int(limit * HEAD)
    head, tail = at_line_ends(whole[:room], whole[len(whole) - (limit - room) :])
    size = len(whole.encode("utf-8", "replace"))
    return f"{without_last_break(head)}\n[truncated: {size} bytes total; {where}]\n{tail}"


def _spilled(whole: str, spill: Path) -> str:
    """Write the file, and say where the whole is."""
    try:
        with open_spill(spill) as file:
            file.write(whole)
    except OSError as error:
        with suppress(OSError):
            spill.unlink(missing_ok=True)
        return f"the whole could not be kept: {error.strerror or error}"
    return f"the whole is in {spill}"


def _with_text(content: tuple[UserContent, ...], text: str) -> tuple[UserContent, ...]:
    """The same pictures, and one text where the first one stood."""
    first = next(index for index, block in enumerate(content) if isinstance(block, Text))
    after = (block for block in content[first:] if not isinstance(block, Text))
    return (*content[:first], Text(text), *after)
