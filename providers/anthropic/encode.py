"""Request body of the Messages API; pure."""

from __future__ import annotations

from collections.abc import Iterable, Set

from harness.messages import AssistantMessage, Image, JsonObject, JsonValue, Thinking, ToolCall, ToolResult
from harness.ports.provider import Request
from providers.anthropic.output_schema import output_format
from providers.anthropic.thinking import ThinkingForm, output_limit
from providers.wire.caching import cache_mark, contents_to_mark
from providers.wire.encoding import filled, limit_with_thinking, safe_name, system_parts, tool_name
from providers.wire.hosted_search import SEARCH, declared, is_hosted, item_in, unanswered
from providers.wire.turns import TurnEncoder

SCHEMA = "schema"
"""The output schema, where a model or a compatible server does not support it."""


SEARCH_ITEMS = frozenset(("server_tool_use", "web_search_tool_result"))
MOST_SEARCHES = 5
"""Searches in one reply; the service pauses a reply with more than ten."""


def encode(
    request: Request, form: ThinkingForm, unreadable: Set[str] = frozenset(), without: Set[str] = frozenset()
) -> JsonObject:
    """Return the body of `POST /v1/messages`.

    At most four cache breakpoints are set, the service's limit: tools, system prompt, two user turns.

    Args:
        request: The request.
        form: Thinking parameters of the model.
        unreadable: Ids of assistant messages whose thinking the service rejects; it is left out.
        without: Features that the service rejects. If it cannot enforce the output schema, the prompt asks for it.
    """
    encoder = AnthropicTurnEncoder(request, unreadable)
    turns: list[JsonObject] = [{"role": role, "content": content} for role, content in encoder.turns()]
    for content in contents_to_mark(turns) if request.cache.messages else ():
        if isinstance(last := content[-1], dict):
            last["cache_control"] = cache_mark(request.cache)
    limit = request.max_tokens or output_limit(request.spec.model_id)
    answer = output_format(request.output_schema.schema) if request.output_schema and SCHEMA not in without else None
    optional: JsonObject = {
        "system": _system(request, with_schema=answer is None),
        "tools": _tools(request, without),
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


def _tools(request: Request, without: Set[str]) -> list[JsonValue]:
    encoded: list[JsonObject] = [
        # The service requires the type, which schemas from elsewhere may omit.
        {"name": tool.name, "description": tool.description, "input_schema": {"type": "object", **tool.parameters}}
        for tool in declared(request.tools, without)
    ]
    if any(is_hosted(tool, without) for tool in request.tools):
        encoded.append({"type": "web_search_20250305", "name": SEARCH, "max_uses": MOST_SEARCHES})
    if encoded and request.cache.tools:
        encoded[-1]["cache_control"] = cache_mark(request.cache)
    return [*encoded]


class AnthropicTurnEncoder(TurnEncoder):
    def text(self, text: str) -> JsonObject:
        return {"type": "text", "text": text}

    def image(self, image: Image) -> JsonObject:
        return {"type": "image", "source": {"type": "base64", "media_type": image.media_type, "data": image.data}}

    def assistant_blocks(self, message: AssistantMessage) -> Iterable[JsonValue]:
        # A search without its result, of a reply that was cut off, is rejected.
        missing = unanswered(message, SEARCH_ITEMS)
        return (
            block
            for block in super().assistant_blocks(message)
            if not (missing and isinstance(block, dict) and block.get("id") in missing)
        )

    def thinking(self, block: Thinking) -> JsonObject | None:
        if item := item_in(block, SEARCH_ITEMS):
            return item
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
