"""Request body of the Messages API; pure."""

from __future__ import annotations

from collections.abc import Set

from harness.messages import Image, JsonObject, JsonValue, Thinking, ToolCall, ToolResult
from harness.ports.provider import Request
from providers.anthropic.output_schema import output_format
from providers.anthropic.thinking import ThinkingForm, output_limit
from providers.wire.caching import cache_mark, contents_to_mark
from providers.wire.encoding import filled, limit_with_thinking, safe_name, system_parts, tool_name
from providers.wire.turns import TurnEncoder


def encode(
    request: Request, form: ThinkingForm, unreadable: Set[str] = frozenset(), *, enforces_schema: bool = True
) -> JsonObject:
    """Return the body of `POST /v1/messages`.

    At most four cache breakpoints are set, the service's limit: tools, system prompt, two user turns.

    Args:
        request: The request.
        form: Thinking parameters of the model.
        unreadable: Ids of assistant messages whose thinking the service rejects; it is left out.
        enforces_schema: True if the service can enforce the output schema; otherwise the prompt asks for it.
    """
    encoder = AnthropicTurnEncoder(request, unreadable)
    turns: list[JsonObject] = [{"role": role, "content": content} for role, content in encoder.turns()]
    for content in contents_to_mark(turns) if request.cache.messages else ():
        if isinstance(last := content[-1], dict):
            last["cache_control"] = cache_mark(request.cache)
    limit = request.max_tokens or output_limit(request.spec.model_id)
    answer = output_format(request.output_schema.schema) if request.output_schema and enforces_schema else None
    optional: JsonObject = {
        "system": _system(request, with_schema=answer is None),
        "tools": _tools(request),
        "thinking": form.thinking,
        "output_config": filled({"effort": form.effort, "format": answer}),
        "temperature": request.temperature if form.takes_temperature else None,
    }
    return {
        "model": request.spec.model_id,
        "max_tokens": limit_with_thinking(limit, form.budget),
        "messages": [*turns],
        "stream": True,
        **filled(optional),
    }


def _system(request: Request, *, with_schema: bool) -> list[JsonValue]:
    blocks: list[JsonObject] = [
        {"type": "text", "text": text} for text in system_parts(request, with_schema=with_schema)
    ]
    if request.cache.system and request.system.strip():
        blocks[0]["cache_control"] = cache_mark(request.cache)
    return [*blocks]


def _tools(request: Request) -> list[JsonValue]:
    encoded: list[JsonObject] = [
        # The service requires the type, which schemas from elsewhere may omit.
        {"name": tool.name, "description": tool.description, "input_schema": {"type": "object", **tool.parameters}}
        for tool in request.tools
    ]
    if encoded and request.cache.tools:
        encoded[-1]["cache_control"] = cache_mark(request.cache)
    return [*encoded]


class AnthropicTurnEncoder(TurnEncoder):
    def text(self, text: str) -> JsonObject:
        return {"type": "text", "text": text}

    def image(self, image: Image) -> JsonObject:
        return {"type": "image", "source": {"type": "base64", "media_type": image.media_type, "data": image.data}}

    def thinking(self, block: Thinking) -> JsonObject | None:
        if block.redacted:
            return {"type": "redacted_thinking", "data": block.redacted}
        if not block.signature:
            return None
        return {"type": "thinking", "thinking": block.text, "signature": block.signature}

    def call(self, call: ToolCall) -> JsonObject:
        return {"type": "tool_use", "id": safe_name(call.id), "name": tool_name(call.name), "input": call.arguments}

    def tool_result(self, message: ToolResult) -> JsonObject:
        block: JsonObject = {"type": "tool_result", "tool_use_id": safe_name(message.call_id)}
        if content := list(self.user_blocks(message.content)):
            block["content"] = content
        if message.is_error:
            block["is_error"] = True
        return block
