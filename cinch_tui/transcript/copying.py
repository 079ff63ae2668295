"""Text of a selection, without gutters and soft line breaks."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cinch_tui.transcript.layout import Layout, Place, key_parts, row_key
from cinch_tui.transcript.markdown_splitter import parser
from cinch_tui.transcript.tool_block import ToolBlock
from harness.views import TerminalView

if TYPE_CHECKING:
    from textual.selection import Selection

    from cinch_tui.transcript.block import Block


def selected_text(layout: Layout, selection: Selection) -> str:
    """Return the selected text; blocks that are fully selected contribute their source."""
    start, end = selection
    first = layout.block_with(key_parts(start.y)[0]) if start is not None else 0
    last = layout.block_with(key_parts(end.y)[0]) if end is not None else len(layout.blocks)
    chunks: list[str] = []
    for block in layout.blocks[first : last + 1]:
        ends_inside = (start is not None and block.index == first) or (end is not None and block.index == last)
        text = _lines_between(layout, block, selection) if ends_inside else block.source
        chunks.append(text.strip("\n"))
    return "\n\n".join(chunk for chunk in chunks if chunk)


def _lines_between(layout: Layout, block: Block, selection: Selection) -> str:
    text = ""
    layout.place_of(block)
    for part in range(len(block.parts)):
        for number, line in enumerate(layout.lines(block, part)):
            span = selection.get_span(row_key(block, part, number))
            if span is None:
                continue
            start, end = span
            whole = line.text if end == -1 else line.text[:end]
            text += whole[max(start, line.gutter) :] + (line.end if end == -1 else "")
    return text


def code_of(block: Block) -> list[str]:
    """Return the code blocks of a message in order; of a command, the command line."""
    if isinstance(block, ToolBlock):
        return [block.view.command] if isinstance(block.view, TerminalView) else []
    tokens = parser().parse(block.source)
    return [token.content.removesuffix("\n") for token in tokens if token.type in ("fence", "code_block")]


def place_of_key(layout: Layout, key: int) -> Place:
    serial, part, line = key_parts(key)
    return Place(layout.block_with(serial), part, line)
