"""Request body of the Gemini API; pure."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Set

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
)
from harness.ports.provider import Request, ToolSpec
from providers.gemini.models import generation, thinking_config
from providers.wire.citations import as_object
from providers.wire.encoding import (
    NO_OUTPUT,
    filled,
    is_same_model,
    limit_with_thinking,
    safe_name,
    system_text,
    text_of,
)
from providers.wire.hosted_search import answered, declared, is_hosted, item_in, items_of
from providers.wire.turns import Role, TurnEncoder

THINKING = "thinkingConfig"
FORMAT = "responseJsonSchema"
TEMPERATURE = "temperature"
UNSIGNED = "unsigned calls"
"""A feature that a service may not support, in addition to field names: tool calls without a signature."""
FOREIGN_CALL = "skip_thought_signature_validator"
"""Signature that Google documents for calls which its model did not make."""
SEARCH_ITEMS = frozenset(("toolCall", "toolResponse"))
ROLES: Mapping[Role, str] = {"user": "user", "assistant": "model"}


def encode(request: Request, without: Collection[str] = ()) -> JsonObject:
    """Return the body of `POST …:streamGenerateContent`, without the fields in `without`.

    If the service cannot enforce the output schema, the prompt asks for it.
    """
    tools = _tools(request, without)
    encoder = GeminiTurnEncoder(request, signs=UNSIGNED in without, searches=bool(tools.get("toolConfig")))
    system = system_text(request, with_schema=FORMAT in without)
    optional: JsonObject = {
        "systemInstruction": {"parts": [{"text": system}]} if system else None,
        **tools,
        "generationConfig": _config(request, without),
    }
    return {"contents": [{"role": ROLES[role], "parts": parts} for role, parts in encoder.turns()], **filled(optional)}


def _tools(request: Request, without: Collection[str]) -> JsonObject:
    functions: list[JsonValue] = [_declared(tool) for tool in declared(request.tools, without)]
    if not any(is_hosted(tool, without) for tool in request.tools):
        return {"tools": [{"functionDeclarations": functions}]} if functions else {}
    # With functions, the service returns its searches, which have to be sent back.
    tools = filled({"functionDeclarations": functions})
    return {
        "tools": [{"googleSearch": {}, **tools}],
        "toolConfig": {"includeServerSideToolInvocations": True} if functions else None,
    }


def _declared(tool: ToolSpec) -> JsonObject:
    declared: JsonObject = {"name": tool.name, "description": tool.description}
    # An object without properties is rejected; a tool without parameters omits them.
    if any(value for key, value in tool.parameters.items() if key not in ("type", "title", "description", "$schema")):
        declared["parametersJsonSchema"] = {"type": "object", **tool.parameters}
    return declared


def _config(request: Request, without: Collection[str]) -> JsonObject:
    thinking = {} if THINKING in without else thinking_config(request.spec)
    budget, limit = thinking.get("thinkingBudget"), request.max_tokens
    thinking_tokens = budget if isinstance(budget, int) else 0
    schema = request.output_schema.schema if request.output_schema and FORMAT not in without else None
    return filled(
        {
            "maxOutputTokens": None if limit is None else limit_with_thinking(limit, thinking_tokens),
            TEMPERATURE: None if TEMPERATURE in without else request.temperature,
            THINKING: thinking,
            "responseMimeType": "application/json" if schema is not None else None,
            FORMAT: schema,
        }
    )


class GeminiTurnEncoder(TurnEncoder):
    """Turn encoder for one model.

    Args:
        request: The request.
        signs: True if the model requires signatures although its name does not tell.
        searches: True if the request declares that searches of the service are returned; otherwise they are left out.
    """

    def __init__(self, request: Request, *, signs: bool, searches: bool) -> None:
        super().__init__(request)
        version = generation(request.spec.model_id)
        self._signs = signs or version >= (3, 0)
        self._returns_searches = searches
        self._sees_in_results = version >= (3, 0)
        replies = [message for message in request.messages if isinstance(message, AssistantMessage)]
        self._names: Mapping[str, str] = {call.id: call.name for reply in replies for call in reply.tool_calls}

    def text(self, text: str) -> JsonObject:
        return {"text": text}

    def image(self, image: Image) -> JsonObject:
        return {"inlineData": {"mimeType": image.media_type, "data": image.data}}

    def thinking(self, block: Thinking) -> JsonObject | None:
        # Without a signature it is only a summary for the user.
        return {"text": block.text, "thought": True} if block.signature else None

    def call(self, call: ToolCall) -> JsonObject:
        return {"functionCall": {"id": safe_name(call.id), "name": _name(call.name), "args": call.arguments}}

    def tool_result(self, message: ToolResult) -> JsonObject:
        images: list[JsonValue] = [self.image(block) for block in message.content if isinstance(block, Image)]
        text = text_of(message.content)
        answer: JsonObject = {
            "id": safe_name(message.call_id),
            "name": self._name_in(message),
            "response": {"error" if message.is_error else "output": text or ("" if images else NO_OUTPUT)},
        }
        if images and self._sees_in_results:
            answer["parts"] = images
        return {"functionResponse": answer}

    def after_results(self, message: ToolResult) -> Iterator[JsonValue]:
        if not self._sees_in_results:
            yield from self.images_after(message, self._name_in(message), safe_name(message.call_id))

    def _name_in(self, message: ToolResult) -> str:
        """Return the tool name of the call: the service matches both."""
        return _name(self._names.get(message.call_id) or message.tool_name)

    def assistant_blocks(self, message: AssistantMessage) -> list[JsonValue]:
        is_own = is_same_model(message, self._spec)
        searches = self._searches_to_send(message) if is_own else frozenset[str]()
        found = (self._part(block, searches, is_own=is_own) for block in message.content)
        parts = [part for part in found if part]
        calls = [part for part in parts if "functionCall" in part]
        # The service signs only the first of parallel calls.
        if calls and self._signs and not any("thoughtSignature" in call for call in calls):
            calls[0]["thoughtSignature"] = FOREIGN_CALL
        return [*parts]

    def _searches_to_send(self, message: AssistantMessage) -> Set[str]:
        """Return the ids of searches in a reply that have a result; a reply may be cut off before it."""
        items = items_of(message, SEARCH_ITEMS) if self._returns_searches else ()
        return answered((_search_id(item), item["type"] == "toolCall") for item in items)

    def _part(self, block: AssistantContent, searches: Set[str], *, is_own: bool) -> JsonObject | None:
        signature = block.signature if is_own else None
        match block:
            case Text(text):
                part = self.text(text) if text.strip() or signature else None
            case Thinking():
                if is_own and (item := item_in(block, SEARCH_ITEMS)):
                    return {**as_object(item.get("part"))} if _search_id(item) in searches else None
                part = self.thinking(block) if signature else None
            case ToolCall():
                part = self.call(block)
        return {**part, "thoughtSignature": signature} if part and signature else part


def _search_id(item: JsonObject) -> str:
    """Return the id of the search that an item calls or answers."""
    return str(as_object(as_object(item.get("part")).get(str(item["type"]))).get("id"))


def _name(name: str) -> str:
    """Return a tool name as declared; an invalid one is made valid."""
    if re.fullmatch(r"[a-zA-Z_][\w.:-]{0,127}", name, re.ASCII):
        return name
    plain = safe_name(name)
    return plain if plain[:1].isalpha() else f"_{plain}"
