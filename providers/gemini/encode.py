"""A request in the form of the Gemini API; pure."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING

from harness.messages import (
    AssistantContent,
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
from harness.ports.provider import Request, ToolSpec
from providers.gemini.models import generation, thinking_config
from providers.wire.encoding import (
    NO_OUTPUT,
    is_same_model,
    system_text,
    text_of,
)
from providers.wire.names import safe_name
from providers.wire.turns import OPENING_TEXT, Writer, images_after, turns_of

THINKING = "thinkingConfig"
FORMAT = "responseJsonSchema"
TEMPERATURE = "temperature"
UNSIGNED = "unsigned calls"
"""What a service may be known not to take, besides names of fields: a call without a signature, from any model."""
FOREIGN_CALL = "skip_thought_signature_validator"
"""What the vendor has one write as the signature of a call that its model did not make."""
BEGINNING: JsonObject = {"text": OPENING_TEXT}


def encode(request: Request, without: Collection[str] = ()) -> JsonObject:
    """The body of `POST …:streamGenerateContent`, without what this service is known not to take.

    Where it cannot be held to the form of an answer, the model is told of it in words.
    """
    told = turns_of(request.messages, _Writer(request, signs=UNSIGNED in without), BEGINNING)
    body: JsonObject = {"contents": [{"role": speaker, "parts": said} for speaker, said in told]}
    if system := system_text(request, with_schema=FORMAT in without):
        body["systemInstruction"] = {"parts": [{"text": system}]}
    if request.tools:
        body["tools"] = [{"functionDeclarations": [_declared(tool) for tool in request.tools]}]
    if config := _config(request, without):
        body["generationConfig"] = config
    return body


def _declared(tool: ToolSpec) -> JsonObject:
    declared: JsonObject = {"name": tool.name, "description": tool.description}
    # An object of nothing is refused; a tool without parameters says nothing of them.
    if any(value for key, value in tool.parameters.items() if key not in ("type", "title", "description", "$schema")):
        declared["parametersJsonSchema"] = {"type": "object", **tool.parameters}
    return declared


def _config(request: Request, without: Collection[str]) -> JsonObject:
    config: JsonObject = {}
    thinking = {} if THINKING in without else thinking_config(request.spec)
    if request.max_tokens is not None:
        budget = thinking.get("thinkingBudget")
        config["maxOutputTokens"] = _with_thoughts(request.max_tokens, budget if isinstance(budget, int) else 0)
    if request.temperature is not None and TEMPERATURE not in without:
        config[TEMPERATURE] = request.temperature
    if thinking:
        config[THINKING] = thinking
    if request.output_schema is not None and FORMAT not in without:
        config["responseMimeType"] = "application/json"
        config[FORMAT] = request.output_schema.schema
    return config


def _with_thoughts(wanted: int, budget: int) -> int:
    """The limit of a reply, in which its thoughts count."""
    return wanted if wanted > budget else wanted + budget


class _Writer:
    """Writes for one model. `signs`: it wants signatures, though its name does not tell."""

    def __init__(self, request: Request, *, signs: bool) -> None:
        version = generation(request.spec.model_id)
        self._spec = request.spec
        self._signs = signs or version >= (3, 0)
        self._sees_in_results = version >= (3, 0)
        replies = [message for message in request.messages if isinstance(message, AssistantMessage)]
        self._names: Mapping[str, str] = {call.id: call.name for reply in replies for call in reply.tool_calls}

    def said(self, content: Iterable[UserContent]) -> Iterator[JsonValue]:
        return _parts(content)

    def result(self, message: ToolResult) -> JsonObject:
        images = [*_parts(block for block in message.content if isinstance(block, Image))]
        text = text_of(message.content)
        answer: JsonObject = {
            "id": safe_name(message.call_id),
            "name": self._name_in(message),
            "response": {"error" if message.is_error else "output": text or ("" if images else NO_OUTPUT)},
        }
        if images and self._sees_in_results:
            answer["parts"] = images
        return {"functionResponse": answer}

    def beside(self, message: ToolResult) -> Iterator[JsonValue]:
        if not self._sees_in_results:
            yield from images_after(message, self._name_in(message), safe_name(message.call_id), _parts)

    def _name_in(self, message: ToolResult) -> str:
        """The tool as its call names it: the service matches both."""
        return _name(self._names.get(message.call_id) or message.tool_name)

    def reply(self, message: AssistantMessage) -> list[JsonValue]:
        is_own = is_same_model(message, self._spec)
        parts = [part for block in message.content for part in _said(block, is_own=is_own)]
        calls = [part for part in parts if "functionCall" in part]
        # Of parallel calls the service signs the first alone.
        if calls and self._signs and not any("thoughtSignature" in call for call in calls):
            calls[0]["thoughtSignature"] = FOREIGN_CALL
        return [*parts]


def _said(block: AssistantContent, *, is_own: bool) -> Iterator[JsonObject]:
    signature = block.signature if is_own else None
    signed: JsonObject = {"thoughtSignature": signature} if signature else {}
    match block:
        case Text(text):
            if text.strip() or signed:
                yield {"text": text, **signed}
        case Thinking(text):
            # Without a signature it is a summary for people, of which the model makes nothing.
            if signed:
                yield {"text": text, "thought": True, **signed}
        case ToolCall(call_id, name, arguments):
            yield {"functionCall": {"id": safe_name(call_id), "name": _name(name), "args": arguments}, **signed}


def _parts(content: Iterable[UserContent]) -> Iterator[JsonValue]:
    for block in content:
        match block:
            case Text(text):
                if text.strip():
                    yield {"text": text}
            case Image(media_type, data):
                yield {"inlineData": {"mimeType": media_type, "data": data}}


def _name(name: str) -> str:
    """A tool's name as it was declared; what could not have been is made plain."""
    if re.fullmatch(r"[a-zA-Z_][\w.:-]{0,127}", name, re.ASCII):
        return name
    plain = safe_name(name)
    return plain if plain[:1].isalpha() else f"_{plain}"


if TYPE_CHECKING:
    _: type[Writer] = _Writer
