"""Request body of the proxy protocol; pure.

Messages use the format of Swink-Agent. Additional fields are ignored by servers that do not know them: `tools`,
`answer_schema`, `options.thinking`, the tool name of a result, encrypted thinking, signatures on all blocks.
"""

from __future__ import annotations

from collections.abc import Iterable

from harness.messages import (
    AssistantContent,
    AssistantMessage,
    Cost,
    Image,
    JsonObject,
    JsonValue,
    ModelMessage,
    Text,
    Thinking,
    ToolCall,
    ToolResult,
    Usage,
    UserContent,
    UserMessage,
)
from harness.ports.provider import Request
from providers.wire.encoding import filled


def encode(request: Request) -> JsonObject:
    """Return the body of `POST /v1/stream`."""
    options: JsonObject = {
        "temperature": request.temperature,
        "max_tokens": request.max_tokens,
        "session_id": request.session_id,
        "thinking": None if request.spec.thinking == "off" else request.spec.thinking,
    }
    answer = request.output_schema
    optional: JsonObject = {
        "tools": [
            {"name": tool.name, "description": tool.description, "parameters": tool.parameters}
            for tool in request.tools
        ],
        "answer_schema": {"name": answer.name, "schema": answer.schema} if answer else None,
    }
    return {
        "model": request.spec.model_id,
        "system": request.system,
        "messages": [_message(message) for message in request.messages],
        "options": filled(options),
        **filled(optional),
    }


def counts_of(counts: Usage | Cost, total: float) -> JsonObject:
    """Return token counts, or dollars; a cost of zero means unknown."""
    return {
        "input": counts.input,
        "output": counts.output,
        "cache_read": counts.cache_read,
        "cache_write": counts.cache_write,
        "total": total,
    }


def _message(message: ModelMessage) -> JsonObject:
    match message:
        case UserMessage():
            return {"role": "user", "content": _user_content(message.content), "timestamp": int(message.time)}
        case ToolResult():
            return {
                "role": "tool_result",
                "tool_call_id": message.call_id,
                "tool_name": message.tool_name,
                "content": _user_content(message.content),
                "is_error": message.is_error,
                "timestamp": int(message.time),
                # Not for models.
                "details": None,
            }
        case AssistantMessage():
            cost = message.usage.cost or Cost()
            return {
                "role": "assistant",
                "content": [_block(block) for block in message.content],
                "provider": message.provider,
                "model_id": message.model,
                "usage": counts_of(message.usage, message.usage.context),
                "cost": counts_of(cost, cost.total),
                "stop_reason": message.stop_reason,
                "error_message": message.error,
                "timestamp": int(message.time),
            }


def _user_content(content: Iterable[UserContent]) -> list[JsonValue]:
    return [_image(block) if isinstance(block, Image) else _block(block) for block in content]


def _image(image: Image) -> JsonObject:
    return {"type": "image", "source": {"type": "base64", "media_type": image.media_type, "data": image.data}}


def _block(block: AssistantContent) -> JsonObject:
    match block:
        case Text(text, signature):
            return {"type": "text", "text": text, **filled({"signature": signature})}
        case Thinking(text, signature, redacted):
            return {"type": "thinking", "thinking": text, "signature": signature, **filled({"redacted": redacted})}
        case ToolCall():
            return {
                "type": "tool_call",
                "id": block.id,
                "name": block.name,
                "arguments": block.arguments,
                "partial_json": block.partial_json or None,
                **filled({"signature": block.signature}),
            }
