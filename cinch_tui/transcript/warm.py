"""What the first reply needs, loaded before it comes."""

from __future__ import annotations

from cinch_tui.transcript.splitting import Piece
from cinch_tui.transcript.styles import BlockStyles


def warm_up() -> None:
    """Import what draws Markdown and code; meant for a thread after the first paint."""
    # Together they cost some hundred milliseconds, which nobody waits for while typing.
    from cinch_tui.transcript.markdown import Page, piece_lines
    from cinch_tui.transcript.tool_call_state import ToolCallState
    from cinch_tui.transcript.tool_lines import header_line

    look = BlockStyles.bare()
    for source in ("*warm* …", "```python\nwarm = 1\n```"):
        piece_lines(Piece(source), {}, Page(look, 80))
    header_line(ToolCallState("", ""), look, 80, folded=True, selected=False)
