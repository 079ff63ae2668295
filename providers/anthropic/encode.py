"""Request body of the Messages API; pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence, Set
from typing import TYPE_CHECKING

from harness.messages import (
    AssistantMessage,
    Image,
    JsonObject,
    JsonValue,
    Text,
    Thinking,
    ToolCall,
    ToolResult,
    UserContent,
)
from harness.ports.provider import Request
from providers.anthropic.output_schema import output_format
from providers.anthropic.thinking import ThinkingForm, output_limit
from providers.wire.caching import cache_mark, ends_of_turns
from providers.wire.encoding import (
    is_same_model,
    safe_name,
    schema_prompt,
    tool_name,
)
from providers.wire.turns import OPENING_TEXT, ROLES, TurnEncoder, turns_of

BEGINNING: JsonObject = {"type": "text", "text": OPENING_TEXT}


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
    spoken = turns_of(request.messages, _TurnEncoder(request, unreadable), {**BEGINNING})
    turns: list[JsonObject] = [{"role": ROLES[speaker], "content": content} for speaker, content in spoken]
    if request.cache.messages:
        _mark_for_cache(turns, cache_mark(request.cache))
    body: JsonObject = {
        "model": request.spec.model_id,
        "max_tokens": _max_tokens(request, form),
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


def _max_tokens(request: Request, form: ThinkingForm) -> int:
    wanted = request.max_tokens or output_limit(request.spec.model_id)
    return wanted if wanted > form.budget else wanted + form.budget


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
        match turn["content"]:
            case [*_, dict() as last]:
                last["cache_control"] = mark
            case _:
                pass


class _TurnEncoder:
    """Turn encoder for one model."""

    def __init__(self, request: Request, unreadable: Set[str]) -> None:
        self._spec = request.spec
        self._unreadable = unreadable

    def user_blocks(self, content: Iterable[UserContent]) -> Iterator[JsonValue]:
        return _user_blocks(content)

    def tool_result(self, message: ToolResult) -> JsonObject:
        block: JsonObject = {"type": "tool_result", "tool_use_id": safe_name(message.call_id)}
        if content := list(_user_blocks(message.content)):
            block["content"] = content
        if message.is_error:
            block["is_error"] = True
        return block

    def after_results(self, message: ToolResult) -> Iterator[JsonValue]:
        del message
        return iter(())

    def assistant_blocks(self, message: AssistantMessage) -> Iterator[JsonValue]:
        is_own = is_same_model(message, self._spec)
        for block in message.content:
            match block:
                case Text(text):
                    if text.strip():
                        yield {"type": "text", "text": text}
                case Thinking():
                    # Thinking is signed for the model that wrote it; another model ignores or rejects it.
                    if is_own and message.id not in self._unreadable:
                        yield from _thinking(block)
                case ToolCall(call_id, name, arguments):
                    yield {"type": "tool_use", "id": safe_name(call_id), "name": tool_name(name), "input": arguments}


def _user_blocks(content: Iterable[UserContent]) -> Iterator[JsonValue]:
    for block in content:
        match block:
            case Text(text):
                # The service rejects blank text.
                if text.strip():
                    yield {"type": "text", "text": text}
            case Image(media_type, data):
                yield {"type": "image", "source": {"type": "base64", "media_type": media_type, "data": data}}


def _thinking(block: Thinking) -> Iterator[JsonObject]:
    if block.redacted:
        yield {"type": "redacted_thinking", "data": block.redacted}
    elif block.signature:
        yield {"type": "thinking", "thinking": block.text, "signature": block.signature}


if TYPE_CHECKING:
    _: type[TurnEncoder] = _TurnEncoder
