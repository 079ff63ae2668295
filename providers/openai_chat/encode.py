"""Request body of Chat Completions; pure."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise

from msgspec.structs import replace

from harness.messages import (
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
from harness.ports.provider import CacheStrategy, Request
from providers.openai_chat.dialect import Dialect
from providers.openai_chat.output_schema import named_schema
from providers.openai_chat.reasoning import REASONING_FIELD
from providers.wire.caching import INPUT_ROLES, cache_fields, cache_mark, ends_of_turns
from providers.wire.encoding import (
    data_url,
    filled,
    function_tool,
    is_same_model,
    parsed_json,
    result_message_text,
    system_text,
    tool_name,
    without_blanks,
)
from providers.wire.turns import with_result_images

RESULTS_READ = "I have read the results."


def encode(request: Request, dialect: Dialect) -> JsonObject:
    """Return the body of `POST /chat/completions`."""
    messages = list(_messages(request.spec, request.messages, dialect))
    if dialect.preset.reply_after_results:
        messages = list(_with_replies(messages))
    if system := system_text(request, with_schema=not dialect.enforces_schema):
        messages.insert(0, {"role": dialect.preset.system_role, "content": system})
    if dialect.preset.cache.wants_marks(request.spec.model_id):
        _mark_for_cache(messages, marking(request, dialect))
    body: JsonObject = {"model": request.spec.model_id, "messages": [*messages], "stream": True}
    if dialect.preset.stream_usage:
        body["stream_options"] = {"include_usage": True}
    if request.tools:
        body |= {"tools": [function_tool(tool) for tool in request.tools], **dialect.preset.with_tools}
    if request.output_schema is not None and dialect.enforces_schema:
        body["response_format"] = {"type": "json_schema", "json_schema": named_schema(request.output_schema)}
    body |= (
        _sampling(request, dialect)
        | dialect.reasoning_fields(request.spec, with_tools=bool(request.tools))
        | cache_fields(dialect.preset.cache, request)
    )
    return {name: value for name, value in body.items() if name not in dialect.preset.without}


def _sampling(request: Request, dialect: Dialect) -> JsonObject:
    has_temperature = dialect.supports_temperature(request.spec.model_id)
    temperature = request.temperature if has_temperature else None
    return filled({dialect.preset.max_tokens_field: request.max_tokens, "temperature": temperature})


def _messages(spec: ModelSpec, messages: Iterable[ModelMessage], dialect: Dialect) -> Iterator[JsonObject]:
    for message in with_result_images(messages):
        match message:
            case ToolResult():
                call_id, text = dialect.tool_id(message.call_id), result_message_text(message)
                yield {"role": "tool", "tool_call_id": call_id, "content": text}
            case UserMessage():
                if shown := without_blanks(message.content):
                    yield {"role": "user", "content": _content(shown)}
            case AssistantMessage():
                yield from _reply(spec, message, dialect)


def _content(shown: Sequence[UserContent]) -> JsonValue:
    """Return the content of a message, as a bare string where possible: not every server supports parts."""
    match shown:
        case [Text(text)]:
            return text
        case _:
            return [_part(block) for block in shown]


def _part(block: UserContent) -> JsonObject:
    if isinstance(block, Image):
        return {"type": "image_url", "image_url": {"url": data_url(block)}}
    return {"type": "text", "text": block.text}


def _with_replies(messages: Iterable[JsonObject]) -> Iterator[JsonObject]:
    """Insert a reply between tool results and the next user message, for services that require it."""
    for previous, message in pairwise([{}, *messages]):
        if (previous.get("role"), message["role"]) == ("tool", "user"):
            yield {"role": "assistant", "content": RESULTS_READ}
        yield message


def _reply(spec: ModelSpec, message: AssistantMessage, dialect: Dialect) -> Iterator[JsonObject]:
    text, calls = message.text, message.tool_calls
    if not calls and not text.strip():
        return
    reply: JsonObject = {"role": "assistant", "content": text}
    # Blank text is rejected by gateways to other vendors' models.
    if calls and not text.strip():
        reply["content"] = "" if dialect.preset.tool_call_content == "empty" else None
    returns_thinking = dialect.returns_thinking and (calls or dialect.preset.keeps_thinking)
    if returns_thinking and is_same_model(message, spec):
        reply |= _reasoning_fields(message)
    if calls:
        if dialect.preset.keeps_thinking and spec.thinking != "off":
            # A call without its reasoning is rejected, even if another model made it.
            reply.setdefault(REASONING_FIELD, "")
        reply["tool_calls"] = [_call(call, dialect) for call in calls]
    yield reply


def _reasoning_fields(message: AssistantMessage) -> JsonObject:
    """Return thinking in the form in which it was received: `reasoning` stores the form in the signature."""
    fields: JsonObject = {}
    for block in message.content:
        if not isinstance(block, Thinking) or not block.signature:
            continue
        match parsed_json(block.signature):
            case str(field):
                fields[field] = f"{fields.get(field, '')}{block.text}"
            case [*details]:
                earlier = fields.get("reasoning_details")
                fields["reasoning_details"] = [*(earlier if isinstance(earlier, list) else ()), *details]
            case {"part": dict() as part}:
                thought: JsonObject = {**part, "thinking": [{"type": "text", "text": block.text}]}
                parts: list[JsonValue] = [{"type": "text", "text": message.text}] if message.text else []
                fields["content"] = [thought, *parts]
            case _:
                pass
    return fields


def _call(call: ToolCall, dialect: Dialect) -> JsonObject:
    arguments = json.dumps(call.arguments, ensure_ascii=False)
    function: JsonObject = {"name": tool_name(call.name), "arguments": arguments}
    return {"id": dialect.tool_id(call.id), "type": "function", "function": function}


def marking(request: Request, dialect: Dialect) -> CacheStrategy:
    """Return the cache strategy for marks on messages."""
    lasts = dialect.preset.cache.keeps_longer(request.spec.model_id)
    return request.cache if lasts else replace(request.cache, lifetime="5m")


def _mark_for_cache(messages: Sequence[JsonObject], cache: CacheStrategy) -> None:
    """Mark messages for the cache. Tools cannot be marked in this API; the system prompt's mark includes them."""
    system = [message for message in messages[:1] if message["role"] in ("system", "developer")]
    inputs = [message for message in messages if message["role"] in INPUT_ROLES]
    marked = [*(system if cache.system else ()), *(ends_of_turns(messages) if cache.messages else ())]
    # All that may be marked has the same form, so that it does not change when the marks move on.
    for message in (*(system if cache.system else ()), *(inputs if cache.messages else ())):
        if isinstance(content := message["content"], str):
            message["content"] = [{"type": "text", "text": content}]
    for message in marked:
        match message["content"]:
            case [*_, dict() as last]:
                last["cache_control"] = cache_mark(cache)
            case _:
                pass
