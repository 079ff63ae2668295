"""Typed reading of messages that cinch wrote to a session file, in a quarter of the time of `reading`.

Lines of other programs, and our own rare ones, do not fit these types: `reading` reads them, and would read the same
messages from the lines that fit.
"""

from __future__ import annotations

from collections.abc import Sequence
from sys import intern
from typing import Any, TypeAlias, final

import msgspec
from msgspec import UNSET, Struct, UnsetType, field

from harness.messages import (
    AssistantContent,
    AssistantMessage,
    Citation,
    Cost,
    Image,
    ModelMessage,
    StopReason,
    Text,
    Thinking,
    ToolResult,
    Usage,
    UserContent,
    UserMessage,
)
from harness.session.reading import iso_time, tool_call
from harness.views import View


class _Text(Struct, tag="text"):
    text: str
    citations: None = None


class _Thinking(Struct, tag="thinking"):
    thinking: str
    signature: str | None = None


class _RedactedThinking(Struct, tag="redacted_thinking"):
    data: str


class _ToolUse(Struct, tag="tool_use"):
    id: str
    name: str
    input: dict[str, Any]


class _Source(Struct):
    media_type: str
    data: str


class _Image(Struct, tag="image"):
    source: _Source


class _ToolResult(Struct, tag="tool_result"):
    tool_use_id: str
    content: str | list[_Text | _Image]
    is_error: bool = False


class _ServerToolUse(Struct, frozen=True):
    web_search_requests: int = 0


class _Usage(Struct):
    input_tokens: int = 0
    output_tokens: int = 0
    cache_read_input_tokens: int = 0
    cache_creation_input_tokens: int = 0
    server_tool_use: _ServerToolUse = _ServerToolUse()


class _ReplyContent(Struct):
    content: list[_Text | _Thinking | _RedactedThinking | _ToolUse]
    usage: _Usage
    model: str = ""


class _ReplyFacts(Struct, rename="camel", forbid_unknown_fields=True):
    provider: str
    stop: StopReason
    response_id: str = ""
    error: str | None = None
    cost: Cost | None = None
    thinking: Thinking | None = None
    signature: str | None = None
    citations: tuple[Citation, ...] = ()


class _UserContent(Struct):
    content: str | list[_Text | _Image | _ToolResult]


class _UserFacts(Struct):
    synthetic: bool = False


class _ResultFacts(Struct):
    tool: str
    details: dict[str, Any] | UnsetType = UNSET
    view: View | None = None


class _ToolUseResult(Struct):
    cinch: _ResultFacts


class _OwnLine(Struct, rename="camel"):
    parent_uuid: str | None
    is_sidechain: bool
    uuid: str
    timestamp: str


@final
class OwnReply(_OwnLine, tag="assistant"):
    """Line with a block of a reply."""

    request_id: str
    message: _ReplyContent
    cinch: _ReplyFacts
    team_name: None = None


@final
class OwnUserLine(_OwnLine, tag="user"):
    """Line with a message of the user or a tool result."""

    message: _UserContent
    source: str = field(default="", name="sourceToolAssistantUUID")
    tool_use_result: _ToolUseResult | None = None
    cinch: _UserFacts | None = None
    request_id: None = None
    team_name: None = None
    is_meta: None = None
    is_compact_summary: None = None

    @property
    def result(self) -> _ToolResult | None:
        """The block with a tool result, if there is one."""
        content = self.message.content
        if type(content) is not str:
            for block in content:
                if type(block) is _ToolResult:
                    return block
        return None


OwnLine: TypeAlias = OwnReply | OwnUserLine
_DECODER = msgspec.json.Decoder(OwnReply | OwnUserLine)


def read_own_line(raw: bytes) -> OwnLine | None:
    """Return a line of the conversation if it has the usual form of our lines."""
    # Other programs write the message before the uuid.
    if raw.find(b'","uuid":"', 0, 160) < 0:
        return None
    try:
        line = _DECODER.decode(raw)
    except (ValueError, RecursionError):
        return None
    if not line.uuid or (type(line) is OwnReply and not line.request_id):
        return None
    return line


def own_message(lines: Sequence[OwnLine]) -> ModelMessage | None:
    """Return a message from its lines; None if the line of a result does not name the tool."""
    first = lines[0]
    if type(first) is not OwnUserLine:
        return _reply([line for line in lines if type(line) is OwnReply])
    if (result := first.result) is None:
        is_synthetic = first.cinch is not None and first.cinch.synthetic
        content = _user_content(first.message.content)
        return UserMessage(content, synthetic=is_synthetic, id=first.uuid, time=iso_time(first.timestamp))
    if first.tool_use_result is None or not (facts := first.tool_use_result.cinch).tool:
        return None
    return ToolResult(
        result.tool_use_id,
        intern(facts.tool),
        _user_content(result.content),
        is_error=result.is_error,
        details=None if facts.details is UNSET else facts.details,
        view=facts.view,
        id=first.uuid,
        time=iso_time(first.timestamp),
    )


def _user_content(content: str | Sequence[_Text | _Image | _ToolResult]) -> tuple[UserContent, ...]:
    if isinstance(content, str):
        return (Text(content),) if content else ()
    blocks: list[UserContent] = []
    for block in content:
        if type(block) is _Text:
            blocks.append(Text(block.text))
        elif type(block) is _Image:
            blocks.append(Image(block.source.media_type, block.source.data))
    return tuple(blocks)


def _reply(lines: Sequence[OwnReply]) -> AssistantMessage:
    first, last = lines[0], lines[-1]
    content: list[AssistantContent] = []
    for line in lines:
        if line.cinch.thinking is not None:
            content.append(line.cinch.thinking)
        for block in line.message.content:
            content.append(_reply_block(block, line.cinch))
    facts, usage = last.cinch, last.message.usage
    return AssistantMessage(
        tuple(content),
        model=intern(last.message.model),
        provider=intern(facts.provider),
        usage=Usage(
            usage.input_tokens,
            usage.output_tokens,
            usage.cache_read_input_tokens,
            usage.cache_creation_input_tokens,
            facts.cost,
            searches=usage.server_tool_use.web_search_requests,
        ),
        stop_reason=facts.stop,
        error=facts.error or None,
        response_id=facts.response_id,
        id=first.uuid,
        time=iso_time(first.timestamp),
    )


def _reply_block(block: _Text | _Thinking | _RedactedThinking | _ToolUse, facts: _ReplyFacts) -> AssistantContent:
    if type(block) is _Text:
        return Text(block.text, facts.signature or None, facts.citations)
    if type(block) is _ToolUse:
        return tool_call(block.id, block.name, block.input, facts.signature or None)
    if type(block) is _Thinking:
        return Thinking(block.thinking, block.signature or None)
    assert type(block) is _RedactedThinking, "the types are listed above"
    return Thinking("", redacted=block.data)
