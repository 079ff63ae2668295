"""Text of a conversation for a model that summarizes it: tool calls and results included, each truncated to a share.

Written as one quoted text and not as messages, so that the model does not continue the conversation, and tools need not
be declared.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence

from msgspec import Struct

from harness.context.grouping import message_groups
from harness.context.tokens import CHARS_PER_TOKEN
from harness.messages import AssistantMessage, CustomMessage, Image, Message, Text, Thinking, ToolCall, UserMessage
from harness.truncation import cut_middle, fair_share

RESULT_CHARS = 4_000
"""Maximum length of a tool result."""
ARGUMENT_CHARS = 2_000
"""Maximum length of the arguments of a call."""
THINKING_CHARS = 1_000
"""Maximum length of the thinking before a reply."""
TEXT_CHARS = 12_000
"""Maximum length of other texts."""
MIN_SHARE = 600
"""Length in characters down to which results and arguments are truncated before the text is split into parts."""

_BREAK = "\n\n"
_ENCODER = json.JSONEncoder(ensure_ascii=False)
_CLOSING = re.compile(r"</(?=conversation|result|user|note|earlier_summary|instructions)")


class _TextSegment(Struct, frozen=True):
    """One block of a message as text. Arguments and results (`is_tool`) can be truncated to a smaller share."""

    opening: str
    text: str
    closing: str
    limit: int
    is_tool: bool = False

    def rendered(self, share: int) -> str:
        limit = min(self.limit, share) if self.is_tool else self.limit
        # A marker that text contains must not end its quotation.
        text = _CLOSING.sub(r"<\\/", _shorter(self.text, limit))
        return f"{self.opening}{text}{self.closing}"


def conversation_parts(messages: Sequence[Message], tokens: int) -> list[str]:
    """Return the text of a conversation in parts of at most `tokens` tokens; 0 = one part of any length.

    Results and arguments are truncated, the longest most, before the text is split. A turn is split only if it is
    longer than a part.
    """
    groups = [[each for each in _segments(group) if each.text or each.is_tool] for group in message_groups(messages)]
    groups = [group for group in groups if group]
    room = int(tokens * CHARS_PER_TOKEN)
    share = _share(groups, room) if tokens else RESULT_CHARS
    texts = ["\n".join(segment.rendered(share) for segment in group) for group in groups]
    return _packed(texts, room) if tokens else [_BREAK.join(texts)] if texts else []


def _share(groups: Sequence[Sequence[_TextSegment]], room: int) -> int:
    """Return the length to which results and arguments are truncated so that all fit, but at least `MIN_SHARE`."""
    segments = [segment for group in groups for segment in group]
    frame = sum(len(segment.opening) + len(segment.closing) + 2 for segment in segments)
    fixed = sum(min(len(segment.text), segment.limit) for segment in segments if not segment.is_tool)
    lengths = [min(len(segment.text), segment.limit) for segment in segments if segment.is_tool]
    return max(MIN_SHARE, fair_share(lengths, room - frame - fixed))


def _packed(texts: Sequence[str], room: int) -> list[str]:
    parts: list[list[str]] = []
    left = 0
    for text in texts:
        shorter = _shorter(text, room)
        if not parts or len(shorter) + len(_BREAK) > left:
            parts.append([])
            left = room + len(_BREAK)
        parts[-1].append(shorter)
        left -= len(shorter) + len(_BREAK)
    return [_BREAK.join(part) for part in parts]


def _shorter(text: str, limit: int) -> str:
    return cut_middle(text, limit, lambda gone: f"\n[… {gone:,} characters …]\n") if len(text) > limit else text


def _segments(messages: Sequence[Message]) -> Iterator[_TextSegment]:
    for message in messages:
        match message:
            case CustomMessage():
                continue
            case AssistantMessage():
                yield from map(_reply_segment, message.content)
            case UserMessage():
                tag = "note" if message.synthetic else "user"
                yield _TextSegment(f"<{tag}>\n", _text(message.content), f"\n</{tag}>", TEXT_CHARS)
            case result:
                error = ' error="true"' if result.is_error else ""
                opening = f'<result of="{result.tool_name}"{error}>\n'
                yield _TextSegment(opening, _text(result.content), "\n</result>", RESULT_CHARS, is_tool=True)


def _reply_segment(block: Text | Thinking | ToolCall) -> _TextSegment:
    match block:
        case Text(text):
            return _TextSegment("Agent: ", text.strip(), "", TEXT_CHARS)
        case Thinking(text):
            return _TextSegment("Thinking: ", text.strip(), "", THINKING_CHARS)
        case ToolCall(_, name, arguments, partial_json):
            text = partial_json or _ENCODER.encode(arguments)
            return _TextSegment(f"Call: {name} ", text, "", ARGUMENT_CHARS, is_tool=True)


def _text(content: Sequence[Text | Image]) -> str:
    return "\n".join("[image]" if isinstance(block, Image) else block.text for block in content).strip()
