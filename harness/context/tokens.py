"""Token counts of a conversation: as counted by the provider, plus an estimate of later messages."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence

from harness.messages import AssistantMessage, CustomMessage, Image, Message, Text, Thinking, ToolCall
from harness.ports.provider import ToolSpec

CHARS_PER_TOKEN = 4.0
IMAGE_TOKENS = 1_200


def estimate_text(text: str) -> int:
    return int(len(text) / CHARS_PER_TOKEN) + 1


def estimate_message(message: Message) -> int:
    if isinstance(message, CustomMessage):
        return 0
    return sum(_estimate_block(block) for block in message.content)


def estimate_messages(messages: Iterable[Message]) -> int:
    return sum(map(estimate_message, messages))


def smallest_limit(*limits: int) -> int:
    """Return the smallest limit that is set, or 0 if none is."""
    return min((each for each in limits if each), default=0)


def estimate(system: str, tools: Iterable[ToolSpec], messages: Sequence[Message]) -> int:
    """Estimate the tokens of the next request, from the latest reported usage and the messages after it."""
    tail = 0
    for message in reversed(messages):
        if isinstance(message, AssistantMessage) and message.usage.context:
            return message.usage.context + tail
        tail += estimate_message(message)
    return tail + estimate_overhead(system, tools)


def estimate_overhead(system: str, tools: Iterable[ToolSpec]) -> int:
    """Estimate the tokens of a request without messages."""
    return estimate_text(system) + sum(_estimate_tool(tool) for tool in tools)


def _estimate_block(block: Text | Thinking | Image | ToolCall) -> int:
    match block:
        case Text(text) | Thinking(text):
            return estimate_text(text)
        case Image():
            return IMAGE_TOKENS
        case ToolCall(_, name, arguments, partial_json):
            return estimate_text(name + (partial_json or json.dumps(arguments)))


def _estimate_tool(tool: ToolSpec) -> int:
    return estimate_text(tool.description) + estimate_text(json.dumps(tool.parameters))
