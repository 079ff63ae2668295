"""Length limit of tool results: head and tail are returned, the full text goes to a file."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from pathlib import Path

from msgspec.structs import replace

from harness.execution.spill import HEAD, at_line_ends, open_spill, without_last_break
from harness.messages import Text, UserContent
from harness.ports.tool import ToolOutput

_INLINE = 1 << 20


async def limit_result(output: ToolOutput, limit: int, spill: Path) -> ToolOutput:
    """Truncate a result without blocking the event loop for long; see `limit_result_now`."""
    # Writing much text may take long; for little text, a thread would risk losing the result to a cancellation.
    is_long = sum(len(block.text) for block in output.content if isinstance(block, Text)) > _INLINE
    return (
        await asyncio.to_thread(limit_result_now, output, limit, spill)
        if is_long
        else limit_result_now(output, limit, spill)
    )


def limit_result_now(output: ToolOutput, limit: int, spill: Path) -> ToolOutput:
    """Truncate the text of a result to `limit` characters, with a note on where the full text is; 0 = unlimited.

    Images are kept. If the file cannot be written, the rest of the text is lost.
    """
    text = "".join(block.text for block in output.content if isinstance(block, Text))
    if limit <= 0 or len(text) <= limit:
        return output
    return replace(output, content=_with_text(output.content, _truncate(text, limit, _spill(text, spill))))


def _truncate(text: str, limit: int, where: str) -> str:
    head_chars = int(limit * HEAD)
    head, tail = at_line_ends(text[:head_chars], text[len(text) - (limit - head_chars) :])
    size = len(text.encode("utf-8", "replace"))
    return f"{without_last_break(head)}\n[truncated: {size} bytes total; {where}]\n{tail}"


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


def _with_text(content: tuple[UserContent, ...], text: str) -> tuple[UserContent, ...]:
    """Return the content with one text block in place of the first, and all images."""
    first = next(index for index, block in enumerate(content) if isinstance(block, Text))
    after = (block for block in content[first:] if not isinstance(block, Text))
    return (*content[:first], Text(text), *after)
