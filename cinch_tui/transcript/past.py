"""The blocks of a conversation that happened before."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from cinch_tui.transcript.block import Block
from cinch_tui.transcript.blocks import NoticeBlock, UserBlock
from cinch_tui.transcript.replies import ReplyBlock, ThinkingBlock
from cinch_tui.transcript.shell_report import is_report, report_block
from cinch_tui.transcript.sources import SourcesBlock
from cinch_tui.transcript.tool_block import ToolBlock
from harness.messages import AssistantMessage, Message, Text, Thinking, ToolCall, ToolResult, UserMessage
from harness.sources import sources_of
from harness.tool import Tool

# About what fills a screen or two.
LAST = 24


def last_turns(messages: Sequence[Message]) -> list[Message]:
    """The end of a conversation, from a prompt on; all of it when that is short or its last prompt is far."""
    for start in range(max(0, len(messages) - LAST), max(0, len(messages) - 10 * LAST), -1):
        if isinstance(messages[start], UserMessage):
            return list(messages[start:])
    return list(messages)


def blocks_of(messages: Iterable[Message], tools: Sequence[Tool]) -> list[Block]:
    """What the screen would show now, had it been there."""
    return list(_Past(tools).blocks(messages))


class _Past:
    def __init__(self, tools: Sequence[Tool]) -> None:
        self._tools = {tool.name: tool for tool in tools}
        self._open: dict[str, ToolBlock] = {}

    def blocks(self, messages: Iterable[Message]) -> Iterator[Block]:
        for message in messages:
            match message:
                case UserMessage():
                    yield said_block(message)
                case AssistantMessage():
                    yield from self._reply(message)
                case ToolResult():
                    self._result(message)
                case _:
                    pass

    def _reply(self, message: AssistantMessage) -> Iterator[Block]:
        texts = [content for content in message.content if isinstance(content, Text)]
        for content in message.content:
            match content:
                case Text(text):
                    reply = ReplyBlock(text)
                    reply.finish()
                    yield reply
                    if content is texts[-1] and (sources := sources_of(texts)):
                        yield SourcesBlock(sources)
                case Thinking(text):
                    if text:
                        thought = ThinkingBlock(text)
                        thought.finish()
                        yield thought
                case ToolCall():
                    yield self._call(content)
        if message.stop_reason in ("error", "aborted") and message.error:
            level = "error" if message.stop_reason == "error" else "warning"
            yield NoticeBlock(message.error, level)

    def _call(self, call: ToolCall) -> ToolBlock:
        tool = self._tools.get(call.name)
        label = tool.label if tool else call.name
        block = ToolBlock(call.id, label, tool.summary(call.arguments) if tool else "")
        block.status = "failed"
        block.text = "The call was interrupted and has no result."
        self._open[call.id] = block
        return block

    def _result(self, result: ToolResult) -> None:
        block = self._open.pop(result.call_id, None)
        if block is not None:
            show_result(block, result)


def said_block(message: UserMessage) -> Block:
    if is_report(message):
        return report_block(message)
    return NoticeBlock(message.text) if message.synthetic else UserBlock(message.text)


def show_result(block: ToolBlock, result: ToolResult) -> None:
    """Put a result into its block."""
    block.text = result.text
    block.view = result.view
    if result.details and result.details.get("denied"):
        block.status = "denied"
    else:
        block.status = "failed" if result.is_error else "done"
