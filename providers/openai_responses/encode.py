"""Request body of the Responses API; pure.

The service stores nothing (`store: false`), so reasoning is sent back to it as received, encrypted.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Iterator
from itertools import groupby

from harness.messages import (
    AssistantContent,
    AssistantMessage,
    Image,
    JsonObject,
    JsonValue,
    ModelMessage,
    ModelSpec,
    Text,
    Thinking,
    ToolCall,
    ToolResult,
    UserContent,
    UserMessage,
)
from harness.ports.provider import Request, ToolSpec
from providers.openai_chat.models import effort_for, reasons
from providers.openai_chat.output_schema import named_schema
from providers.preset import CacheRule
from providers.wire.caching import cache_fields
from providers.wire.encoding import (
    NO_OUTPUT,
    data_url,
    filled,
    is_same_model,
    parsed_json,
    result_text,
    safe_name,
    system_text,
    text_of,
    tool_name,
    without_blanks,
)
from providers.wire.hosted_search import declared, is_hosted

LEAST_OUTPUT = 16
ENCRYPTED = "reasoning.encrypted_content"
FORMAT = "text"
"""Field with the output schema; where a server does not support it, the prompt asks for the schema."""
DEFAULT_CACHING = CacheRule(key="prompt_cache_key")


def encode(request: Request, without: Collection[str] = (), caching: CacheRule = DEFAULT_CACHING) -> JsonObject:
    """Return the body of `POST /responses`, without the fields in `without`."""
    spec, limit, answer = request.spec, request.max_tokens, request.output_schema
    is_reasoning = reasons(spec.model_id)
    effort: JsonObject = {"effort": effort_for(spec.model_id, spec.thinking), "summary": "auto"}
    body: JsonObject = {
        "model": spec.model_id,
        "input": [*_input(spec, request.messages, keeps_reasoning=ENCRYPTED not in without)],
        "stream": True,
        "store": False,
        "instructions": system_text(request, with_schema=FORMAT in without),
        "tools": _tools(request.tools, without),
        **cache_fields(caching, request),
        "max_output_tokens": None if limit is None else max(LEAST_OUTPUT, limit),
        "temperature": None if is_reasoning else request.temperature,
        "reasoning": effort if is_reasoning else None,
        "include": [ENCRYPTED] if is_reasoning else None,
        FORMAT: {"format": {"type": "json_schema", **named_schema(answer)}} if answer else None,
    }
    return {name: value for name, value in filled(body).items() if name not in without}


def _tools(tools: Collection[ToolSpec], without: Collection[str]) -> list[JsonValue]:
    hosted: list[JsonObject] = [{"type": "web_search"} for tool in tools if is_hosted(tool, without)]
    return [*(_tool(tool) for tool in declared(tools, without)), *hosted]


def _tool(tool: ToolSpec) -> JsonObject:
    return {
        "type": "function",
        "name": tool.name,
        "description": tool.description,
        "parameters": tool.parameters,
        # By default the service treats every schema as strict and rejects optional properties.
        "strict": False,
    }


def _input(spec: ModelSpec, messages: Iterable[ModelMessage], *, keeps_reasoning: bool) -> Iterator[JsonValue]:
    for message in messages:
        match message:
            case UserMessage():
                if shown := without_blanks(message.content):
                    yield {"type": "message", "role": "user", "content": [_part(block) for block in shown]}
            case ToolResult():
                yield {
                    "type": "function_call_output",
                    "call_id": safe_name(message.call_id),
                    "output": _output(message),
                }
            case AssistantMessage():
                yield from _reply(message, keeps_reasoning=keeps_reasoning and is_same_model(message, spec))


def _part(block: UserContent) -> JsonObject:
    if isinstance(block, Image):
        return {"type": "input_image", "detail": "auto", "image_url": data_url(block)}
    return {"type": "input_text", "text": block.text}


def _output(message: ToolResult) -> JsonValue:
    text = result_text(text_of(message.content), is_error=message.is_error)
    images = [block for block in message.content if isinstance(block, Image)]
    return [_part(block) for block in without_blanks((Text(text), *images))] if images else text or NO_OUTPUT


def _reply(message: AssistantMessage, *, keeps_reasoning: bool) -> Iterator[JsonValue]:
    for is_thinking, group in groupby(message.content, key=lambda block: isinstance(block, Thinking)):
        blocks = [*group]
        if not is_thinking:
            yield from _output_items(blocks)
        elif keeps_reasoning and blocks[-1] is not message.content[-1]:
            # Reasoning is rejected without the item after it, and a search without its reasoning.
            found = [_reasoning_item(block.signature) for block in blocks if isinstance(block, Thinking)]
            complete = [item for item in found if item is not None]
            yield from complete if len(complete) == len(found) else ()


def _output_items(blocks: Iterable[AssistantContent]) -> Iterator[JsonObject]:
    for block in blocks:
        match block:
            case Text(text):
                if text.strip():
                    yield {"type": "message", "role": "assistant", "content": text}
            case Thinking():
                pass
            case ToolCall():
                yield {
                    "type": "function_call",
                    "call_id": safe_name(block.id),
                    "name": tool_name(block.name),
                    "arguments": json.dumps(block.arguments, ensure_ascii=False),
                }


def _reasoning_item(signature: str | None) -> JsonObject | None:
    """Return the item stored by `decode`, if there is one: of reasoning, or of a search of the service."""
    item = parsed_json(signature or "")
    return item if isinstance(item, dict) and item.get("type") in ("reasoning", "web_search_call") else None
