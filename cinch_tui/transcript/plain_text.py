"""The whole conversation as plain text for the pager."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from textwrap import indent

from cinch_tui.rendering.safe_text import plain_output
from cinch_tui.transcript.block import Block
from cinch_tui.transcript.blocks import NoticeBlock, UserBlock
from cinch_tui.transcript.replies import ThinkingBlock
from cinch_tui.transcript.tool_block import ToolBlock


def whole_text(blocks: Iterable[Block]) -> str:
    """Return all blocks as text, folded or not."""
    return "\n\n".join(text for text in _texts(blocks) if text.strip()) + "\n"


def _texts(blocks: Iterable[Block]) -> Iterator[str]:
    for block in blocks:
        text = plain_output(block.source).strip("\n")
        match block:
            case UserBlock():
                yield indent(text, "> ", lambda _: True)
            case ThinkingBlock():
                yield indent(text, "| ", lambda _: True)
            case ToolBlock():
                yield f"* {plain_output(block.headline)} ({block.call.outcome})\n{indent(text, '    ')}"
            case NoticeBlock():
                yield f"- {text}"
            case _:
                yield text
