"""What the model is told of a command that the person ran, and how that stands in a conversation that happened."""

from __future__ import annotations

from cinch_tui.transcript.tool_block import ToolBlock
from harness.messages import Text, UserMessage

LABEL = "You ran"
PRIVATE_LABEL = "You ran, unheard"
_HEAD = "The person ran this command themselves, in the project's folder:\n$ "


def report_of(command: str, words: str) -> UserMessage:
    return UserMessage((Text(f"{_HEAD}{command}\n"), Text(words)), synthetic=True)


def is_report(message: UserMessage) -> bool:
    return message.synthetic and message.text.startswith(_HEAD)


def report_block(message: UserMessage) -> ToolBlock:
    text = message.text.removeprefix(_HEAD)
    block = ToolBlock(message.id, LABEL, text.partition("\n")[0])
    block.text = text
    block.status = "done"
    return block
