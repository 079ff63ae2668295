"""Request body of the Messages API; pure."""

from __future__ import annotations

from collections.abc import Set

from harness.messages import AssistantMessage, Image, JsonObject, JsonValue, Text, Thinking, ToolCall, ToolResult
from harness.ports.provider import Request
from providers.anthropic.decode import CITATION
from providers.anthropic.output_schema import output_format
from providers.anthropic.thinking import ThinkingForm, output_limit
from providers.wire.caching import cache_mark, contents_to_mark
from providers.wire.citations import objects
from providers.wire.encoding import filled, limit_with_thinking, safe_name, system_parts, tool_name
from providers.wire.hosted_search import SEARCH, answered, declared, is_hosted, item_in, items_of
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
    def __init__(self, request: Request, unreadable: Set[str] = frozenset()) -> None:
        super().__init__(request, unreadable)
        self._searches = self._searches_to_send()
        self._found = self._pages_found()

    def _searches_to_send(self) -> set[str]:
        """Return the ids of searches that the service accepts.

        A search without its result, of a reply that was cut off, is rejected, and so is a result without its search.
        The result is in the same reply, or in a later one if the reply also calls tools of the client: the service runs
        such a search only when it has their results. A paused reply continues with its last search.

        Source: https://platform.claude.com/docs/en/agents-and-tools/tool-use/server-tools
        """
        replies = [message for message in self._messages if isinstance(message, AssistantMessage)]
        own = [message for message in replies if self.returns_thinking(message)]
        items = [item for message in own for item in items_of(message, SEARCH_ITEMS)]
        searches = answered((_search_id(item), "id" in item) for item in items)
        is_paused = self._messages[-1:] == tuple(own[-1:]) and own[-1].stop_reason == "pause"
        if own and own[-1] is replies[-1] and (own[-1].tool_calls or is_paused):
            searches |= {_search_id(item) for item in items_of(own[-1], SEARCH_ITEMS) if "id" in item}
        return searches

    def _pages_found(self) -> set[str]:
        """Return the URLs of the pages in the results that are sent."""
        replies = (
            each for each in self._messages if isinstance(each, AssistantMessage) and self.returns_thinking(each)
        )
        items = (item for reply in replies for item in items_of(reply, SEARCH_ITEMS))
        results = (item for item in items if "tool_use_id" in item and _search_id(item) in self._searches)
        return {str(page.get("url")) for item in results for page in objects(item.get("content"))}

    def text(self, text: str) -> JsonObject:
        return {"type": "text", "text": text}

    def reply_text(self, block: Text) -> JsonObject:
        """Return a text with its citations of searches, which refer to the results that are sent."""
        cited = objects((item_in(block, {CITATION}) or {}).get("citations"))
        known: list[JsonValue] = [{**each} for each in cited if each.get("url") in self._found]
        return {**self.text(block.text), "citations": known} if known else self.text(block.text)

    def image(self, image: Image) -> JsonObject:
        return {"type": "image", "source": {"type": "base64", "media_type": image.media_type, "data": image.data}}

    def thinking(self, block: Thinking) -> JsonObject | None:
        if item := item_in(block, SEARCH_ITEMS):
            return item if _search_id(item) in self._searches else None
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


def _search_id(item: JsonObject) -> str:
    """Return the id of the search that an item calls or answers."""
    return str(item.get("id") or item.get("tool_use_id"))
