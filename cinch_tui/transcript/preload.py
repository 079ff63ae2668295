"""Preloading of modules needed by the first reply."""

from __future__ import annotations

from cinch_tui.transcript.markdown_splitter import Piece
from cinch_tui.transcript.styles import BlockStyles


def warm_up() -> None:
    """Import Markdown and code rendering; run in a thread after the first paint."""
    # Together they take some hundred milliseconds.
    from cinch_tui.transcript.markdown import Page, piece_lines
    from cinch_tui.transcript.tool_call_state import ToolCallState
    from cinch_tui.transcript.tool_lines import header_line

    look = BlockStyles.bare()
    for source in ("*warm* …", "```python\nwarm = 1\n```"):
        piece_lines(Piece(source), {}, Page(look, 80))
    header_line(ToolCallState("", ""), look, 80, folded=True, selected=False)
