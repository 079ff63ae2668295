"""Request body of the Converse API; pure."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Set

from harness.messages import AssistantMessage, Image, JsonObject, JsonValue, Text, Thinking, ToolCall, ToolResult
from harness.ports.provider import NO_CACHE, CacheStrategy, OutputSchema, Request, ToolSpec
from providers.anthropic.output_schema import output_format
from providers.bedrock.traits import Traits, traits_of
from providers.wire.caching import accepted_marks, contents_to_mark
from providers.wire.encoding import NO_OUTPUT, filled, limit_with_thinking, safe_name, system_parts, tool_name
from providers.wire.turns import TurnEncoder

THINKING, SCHEMA, TEMPERATURE = "thinking", "schema", "temperature"
"""Features that a model may not support."""
FORMATS = {"image/png": "png", "image/jpeg": "jpeg", "image/gif": "gif", "image/webp": "webp"}
UNAVAILABLE_TOOL = "This tool is no longer available; do not call it."


def encode(request: Request, without: Set[str] = frozenset(), unreadable: Set[str] = frozenset()) -> JsonObject:
    """Return the body of `POST /model/…/converse-stream`, without the features in `without`.

    `unreadable` are ids of assistant messages whose thinking the service rejects; it is left out.
    """
    traits = traits_of(request.spec, thinks=THINKING not in without)
    cache = accepted_marks(request.cache, without) if traits.caches else NO_CACHE
    point = _point(cache, traits)
    encoder = BedrockTurnEncoder(request, traits, unreadable)
    turns: list[JsonObject] = [{"role": role, "content": content} for role, content in encoder.turns()]
    for content in contents_to_mark(turns) if cache.messages else ():
        content.append(point)
    answer = _output_config(request.output_schema) if request.output_schema and SCHEMA not in without else None
    system: list[JsonValue] = [{"text": text} for text in system_parts(request, with_schema=answer is None)]
    if cache.system and request.system.strip():
        system.append(point)
    tools: list[JsonValue] = [*_tools(request)]
    if tools and cache.tools and traits.caches_tools:
        tools.append(point)
    optional: JsonObject = {
        "system": system,
        "toolConfig": filled({"tools": tools}),
        "inferenceConfig": _inference(request, traits, takes_temperature=TEMPERATURE not in without),
        "additionalModelRequestFields": traits.fields,
        "outputConfig": answer,
    }
    return {"messages": [*turns], **filled(optional)}


def _output_config(answer: OutputSchema) -> JsonObject | None:
    form = output_format(answer.schema)
    if form is None:
        return None
    schema: JsonObject = {"name": safe_name(answer.name), "schema": json.dumps(form["schema"], ensure_ascii=False)}
    return {"textFormat": {"type": "json_schema", "structure": {"jsonSchema": schema}}}


def _tools(request: Request) -> list[JsonObject]:
    """Return the tools; if there are none, those of earlier calls, without which the service rejects the history."""
    replies = [message for message in request.messages if isinstance(message, AssistantMessage)]
    called = dict.fromkeys(tool_name(call.name) for reply in replies for call in reply.tool_calls)
    return [_tool(tool) for tool in request.tools or (ToolSpec(name, UNAVAILABLE_TOOL, {}) for name in called)]


def _tool(tool: ToolSpec) -> JsonObject:
    # The service requires the type, which schemas from elsewhere may omit.
    spec: JsonObject = {"name": tool.name, "inputSchema": {"json": {"type": "object", **tool.parameters}}}
    if tool.description.strip():
        spec["description"] = tool.description
    return {"toolSpec": spec}


def _inference(request: Request, traits: Traits, *, takes_temperature: bool) -> JsonObject:
    limit, temperature = request.max_tokens or traits.output_limit, request.temperature
    takes_temperature = takes_temperature and traits.takes_temperature
    return filled(
        {
            "maxTokens": limit_with_thinking(limit, traits.budget) if limit and traits.takes_limit else None,
            # The service's limit; other vendors allow up to 2.
            "temperature": min(1.0, temperature) if temperature is not None and takes_temperature else None,
        }
    )


def _point(cache: CacheStrategy, traits: Traits) -> JsonObject:
    is_usual = cache.lifetime == "5m" or not traits.caches_an_hour
    return {"cachePoint": {"type": "default"} if is_usual else {"type": "default", "ttl": cache.lifetime}}


class BedrockTurnEncoder(TurnEncoder):
    def __init__(self, request: Request, traits: Traits, unreadable: Set[str]) -> None:
        super().__init__(request, unreadable)
        self._traits = traits

    def text(self, text: str) -> JsonObject:
        return {"text": text}

    def image(self, image: Image) -> JsonObject:
        if form := FORMATS.get(image.media_type):
            return {"image": {"format": form, "source": {"bytes": image.data}}}
        return self.text(f"(an image of type {image.media_type}, which the service does not support)")

    def thinking(self, block: Thinking) -> JsonObject | None:
        if block.redacted:
            return {"reasoningContent": {"redactedContent": block.redacted}}
        if not block.signature:
            return None
        return {"reasoningContent": {"reasoningText": {"text": block.text, "signature": block.signature}}}

    def call(self, call: ToolCall) -> JsonObject:
        return {"toolUse": {"toolUseId": _id(call.id), "name": tool_name(call.name), "input": call.arguments}}

    def tool_result(self, message: ToolResult) -> JsonObject:
        shown = [block for block in message.content if isinstance(block, Text) or self._traits.results_show]
        content = [*self.user_blocks(shown)] or [{"text": NO_OUTPUT}]
        result: JsonObject = {"toolUseId": _id(message.call_id), "content": content}
        if message.is_error and self._traits.results_show:
            result["status"] = "error"
        return {"toolResult": result}

    def after_results(self, message: ToolResult) -> Iterator[JsonValue]:
        if not self._traits.results_show:
            yield from self.images_after(message, tool_name(message.tool_name), _id(message.call_id))


def _id(call_id: str) -> str:
    return call_id if re.fullmatch(r"[a-zA-Z0-9_-]{1,64}", call_id) else safe_name(call_id)
