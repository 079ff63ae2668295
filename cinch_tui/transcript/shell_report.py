"""Block of a shell command that the user ran, in a resumed conversation."""

from __future__ import annotations

from cinch_tui.shell_line import strip_report_head
from cinch_tui.transcript.tool_block import ToolBlock
from harness.messages import UserMessage

LABEL = "You ran"
PRIVATE_LABEL = "You ran (not shared with the model)"


def report_block(message: UserMessage) -> ToolBlock:
    text = strip_report_head(message.text)
    block = ToolBlock(message.id, LABEL, text.partition("\n")[0])
    block.text = text
    block.status = "done"
    return block
