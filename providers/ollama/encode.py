"""A request in the form of Ollama's chat; pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from harness.messages import (
    AssistantMessage,
    Image,
    JsonObject,
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
from harness.thinking_level import ThinkingLevel
from providers.ollama.card import ModelCard
from providers.wire.answer import in_words
from providers.wire.image_support import without_images
from providers.wire.names import safe_name, tool_name

NO_OUTPUT = "(no output)"


def encode(request: Request, card: ModelCard, keep_alive: str = "") -> JsonObject:
    """The body of `POST /api/chat`. `keep_alive`: how long the model stays loaded; empty leaves it to the server."""
    shown = request.messages if card.can("vision") else without_images(request.messages)
    messages = list(_messages(request.spec, shown))
    if system := _system(request):
        messages.insert(0, {"role": "system", "content": system})
    body: JsonObject = {"model": request.spec.model_id, "messages": [*messages], "stream": True}
    # What does not fit shall be an error, which is answered by compaction, not a hole in the conversation.
    body |= {"truncate": False, "shift": False}
    if request.tools:
        body["tools"] = [_tool(tool) for tool in request.tools]
    elif request.output_schema is not None:
        # A model that is held to a form can call no tool.
        body["format"] = request.output_schema.schema
    if options := _options(request, card):
        body["options"] = options
    think = _think(request.spec, card)
    if think is not None:
        body["think"] = think
    if keep_alive:
        body["keep_alive"] = keep_alive
    return body


def _system(request: Request) -> str:
    words = [request.system] if request.system.strip() else []
    if request.output_schema is not None:
        # The server only keeps the model from writing anything else; it does not tell it what is wanted.
        words.append(in_words(request.output_schema))
    return "\n\n".join(words)


def _options(request: Request, card: ModelCard) -> JsonObject:
    fields: JsonObject = {
        "num_ctx": card.num_ctx,
        "num_predict": request.max_tokens,
        "temperature": request.temperature,
    }
    return {name: value for name, value in fields.items() if value is not None}


def _think(spec: ModelSpec, card: ModelCard) -> bool | str | None:
    """How hard to think; None where the model may not be able to, since that would be refused."""
    if "gpt-oss" in spec.model_id:
        return _effort(spec.thinking)
    if card.abilities is None and spec.thinking == "off":
        return None
    return spec.thinking != "off" if card.can("thinking") else None


def _effort(level: ThinkingLevel) -> str:
    # This model always thinks, and yes or no means nothing to it.
    return {"medium": "medium", "high": "high", "extra-high": "high"}.get(level, "low")


def _tool(tool: ToolSpec) -> JsonObject:
    # A schema from elsewhere may leave out what templates insist on.
    parameters: JsonObject = {"type": "object", "properties": {}, **tool.parameters}
    function: JsonObject = {"name": tool.name, "description": tool.description, "parameters": parameters}
    return {"type": "function", "function": function}


def _messages(spec: ModelSpec, messages: Iterable[ModelMessage]) -> Iterator[JsonObject]:
    images: list[UserContent] = []
    for message in messages:
        if images and not isinstance(message, ToolResult):
            yield from _shown(images)
            images = []
        match message:
            case ToolResult():
                yield _result(message)
                images.extend(block for block in message.content if isinstance(block, Image))
            case UserMessage():
                yield from _said(message.content)
            case AssistantMessage():
                yield from _reply(spec, message)
    yield from _shown(images)


def _shown(images: list[UserContent]) -> Iterator[JsonObject]:
    """Images from tool results, which templates look for in what a person says; only after the last of the results."""
    if images:
        yield from _said([Text("Images from the tool results above:"), *images])


def _said(content: Iterable[UserContent]) -> Iterator[JsonObject]:
    words: list[str] = []
    images: list[str] = []
    for block in content:
        match block:
            case Text(text):
                words += [text] if text.strip() else []
            case Image(_, data):
                images.append(data)
    if words or images:
        message: JsonObject = {"role": "user", "content": "\n".join(words)}
        if images:
            message["images"] = [*images]
        yield message


def _result(message: ToolResult) -> JsonObject:
    text = "\n".join(block.text for block in message.content if isinstance(block, Text) and block.text)
    text = text if text.strip() else NO_OUTPUT
    # This wire has no mark for failures.
    if message.is_error and not text.lower().startswith("error"):
        text = f"Error: {text}"
    return {
        "role": "tool",
        "tool_name": tool_name(message.tool_name),
        "tool_call_id": safe_name(message.call_id),
        "content": text,
    }


def _reply(spec: ModelSpec, message: AssistantMessage) -> Iterator[JsonObject]:
    text, calls = message.text, message.tool_calls
    if not calls:
        if text.strip():
            yield {"role": "assistant", "content": text}
        return
    reply: JsonObject = {"role": "assistant", "content": text if text.strip() else ""}
    thought = "".join(block.text for block in message.content if isinstance(block, Thinking))
    if thought and (message.provider, message.model) == (spec.provider, spec.model_id):
        reply["thinking"] = thought
    reply["tool_calls"] = [_call(call) for call in calls]
    yield reply


def _call(call: ToolCall) -> JsonObject:
    return {"id": safe_name(call.id), "function": {"name": tool_name(call.name), "arguments": call.arguments}}
