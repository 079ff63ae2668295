"""Input of a chat template; pure.

Templates support different structures and fail on others: `TEMPLATE_VARIANTS` are ways to write the same messages,
plainest first.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby

from msgspec import Struct

from harness.messages import (
    AssistantMessage,
    JsonObject,
    ModelMessage,
    ModelSpec,
    Text,
    ToolCall,
    ToolResult,
    UserContent,
    UserMessage,
)
from harness.ports.provider import Request
from providers.wire.encoding import NO_OUTPUT, nine_letters, own_thinking, result_text, system_text, tool_name

UNSEEN = "(an image, which this model cannot see)"


class TemplateVariant(Struct, frozen=True):
    """Restrictions of a template."""

    one_call: bool = False
    """At most one tool call per message."""

    no_system: bool = False
    """No system message; the first user message contains it."""

    text_arguments: bool = False
    """Arguments are JSON text."""


TEMPLATE_VARIANTS = (
    TemplateVariant(),
    TemplateVariant(one_call=True),
    TemplateVariant(no_system=True),
    TemplateVariant(one_call=True, no_system=True),
    TemplateVariant(text_arguments=True),
)


def encode(request: Request, variant: TemplateVariant = TEMPLATE_VARIANTS[0]) -> list[JsonObject]:
    """Return the messages. Ids have nine characters, as the strictest template requires."""
    messages = list(_joined(_messages(request.spec, request.messages, variant)))
    system = system_text(request, with_schema=True)
    if system and variant.no_system:
        return list(_joined([{"role": "user", "content": system}, *messages]))
    return [{"role": "system", "content": system}, *messages] if system else messages


def _joined(messages: Iterable[JsonObject]) -> Iterator[JsonObject]:
    """Join consecutive user messages: many templates insist on alternating turns."""
    for is_user, group in groupby(messages, key=lambda message: message["role"] == "user"):
        if is_user:
            yield {"role": "user", "content": "\n\n".join(str(message["content"]) for message in group)}
        else:
            yield from group


def _messages(spec: ModelSpec, messages: Sequence[ModelMessage], variant: TemplateVariant) -> Iterator[JsonObject]:
    results = {message.call_id: message for message in messages if isinstance(message, ToolResult)}
    for message in messages:
        match message:
            case UserMessage():
                yield {"role": "user", "content": _content_text(message.content)}
            case ToolResult() if not variant.one_call:
                yield _result(message)
            case ToolResult():
                pass
            case AssistantMessage() if variant.one_call and message.tool_calls:
                yield from _one_by_one(spec, message, results)
            case AssistantMessage():
                if message.tool_calls or message.text.strip():
                    yield _reply(spec, message, message.tool_calls, variant)


def _one_by_one(spec: ModelSpec, message: AssistantMessage, results: dict[str, ToolResult]) -> Iterator[JsonObject]:
    """Yield each call with its result, as if they had been made one after the other."""
    for number, call in enumerate(message.tool_calls):
        reply = _reply(spec, message, (call,), TEMPLATE_VARIANTS[0])
        yield reply if number == 0 else {**reply, "content": ""}
        if call.id in results:
            yield _result(results[call.id])


def _content_text(content: Iterable[UserContent]) -> str:
    return "\n".join(block.text if isinstance(block, Text) else UNSEEN for block in content)


def _result(message: ToolResult) -> JsonObject:
    text = _content_text(message.content)
    text = result_text(text if text.strip() else NO_OUTPUT, is_error=message.is_error)
    call_id = nine_letters(message.call_id)
    return {"role": "tool", "name": tool_name(message.tool_name), "tool_call_id": call_id, "content": text}


def _reply(
    spec: ModelSpec, message: AssistantMessage, calls: Sequence[ToolCall], variant: TemplateVariant
) -> JsonObject:
    reply: JsonObject = {"role": "assistant", "content": message.text.strip()}
    if thought := own_thinking(message, spec):
        reply["reasoning_content"] = thought
    if calls:
        reply["tool_calls"] = [_call(call, variant) for call in calls]
    return reply


def _call(call: ToolCall, variant: TemplateVariant) -> JsonObject:
    arguments = json.dumps(call.arguments, ensure_ascii=False) if variant.text_arguments else call.arguments
    function: JsonObject = {"name": tool_name(call.name), "arguments": arguments}
    return {"id": nine_letters(call.id), "type": "function", "function": function}
