"""Request body of the Messages API; pure."""

from __future__ import annotations

from collections.abc import Sequence, Set

from harness.messages import Image, JsonObject, JsonValue, Thinking, ToolCall, ToolResult
from harness.ports.provider import Request
from providers.anthropic.output_schema import output_format
from providers.anthropic.thinking import ThinkingForm, output_limit
from providers.wire.caching import cache_mark, ends_of_turns
from providers.wire.encoding import limit_with_thinking, safe_name, schema_prompt, tool_name
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
    encoder = _TurnEncoder(request, unreadable)
    turns: list[JsonObject] = [{"role": role, "content": content} for role, content in encoder.turns()]
    if request.cache.messages:
        _mark_for_cache(turns, cache_mark(request.cache))
    limit = request.max_tokens or output_limit(request.spec.model_id)
    body: JsonObject = {
        "model": request.spec.model_id,
        "max_tokens": limit_with_thinking(limit, form.budget),
        "messages": [*turns],
        "stream": True,
    }
    answer = output_format(request.output_schema.schema) if request.output_schema and enforces_schema else None
    if system := _system(request, is_enforced=answer is not None):
        body["system"] = system
    if request.tools:
        body["tools"] = _tools(request)
    if form.thinking:
        body["thinking"] = form.thinking
    if config := _output_config(form, answer):
        body["output_config"] = config
    if request.temperature is not None and form.takes_temperature:
        body["temperature"] = request.temperature
    return body


def _system(request: Request, *, is_enforced: bool) -> list[JsonValue]:
    blocks: list[JsonValue] = []
    if request.system.strip():
        marked: JsonObject = {"cache_control": cache_mark(request.cache)} if request.cache.system else {}
        blocks.append({"type": "text", "text": request.system, **marked})
    if request.output_schema is not None and not is_enforced:
        blocks.append({"type": "text", "text": schema_prompt(request.output_schema)})
    return blocks


def _output_config(form: ThinkingForm, answer: JsonObject | None) -> JsonObject:
    config: JsonObject = {}
    if form.effort:
        config["effort"] = form.effort
    if answer is not None:
        config["format"] = answer
    return config


def _tools(request: Request) -> list[JsonValue]:
    encoded: list[JsonObject] = [
        # The service requires the type, which schemas from elsewhere may omit.
        {"name": tool.name, "description": tool.description, "input_schema": {"type": "object", **tool.parameters}}
        for tool in request.tools
    ]
    if request.cache.tools:
        encoded[-1]["cache_control"] = cache_mark(request.cache)
    return [*encoded]


def _mark_for_cache(turns: Sequence[JsonObject], mark: JsonObject) -> None:
    for turn in ends_of_turns(turns):
        if isinstance(content := turn["content"], list) and isinstance(last := content[-1], dict):
            last["cache_control"] = mark


class _TurnEncoder(TurnEncoder):
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
