"""Request body of Ollama's chat; pure."""

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
from harness.ports.provider import Request
from harness.thinking_level import ThinkingLevel
from providers.ollama.model_card import ModelCard
from providers.wire.encoding import function_tool, is_same_model, result_message_text, safe_name, system_text, tool_name
from providers.wire.image_support import without_images
from providers.wire.turns import with_result_images


def encode(request: Request, card: ModelCard, keep_alive: str = "") -> JsonObject:
    """Return the body of `POST /api/chat`. `keep_alive` is how long the model stays loaded; empty leaves it to the
    server."""
    shown = request.messages if card.can("vision") else without_images(request.messages)
    messages = list(_messages(request.spec, shown))
    # The server only restricts what the model can write; it does not tell the model what is wanted.
    if system := system_text(request, with_schema=True):
        messages.insert(0, {"role": "system", "content": system})
    body: JsonObject = {"model": request.spec.model_id, "messages": [*messages], "stream": True}
    # Too long a prompt must be an error, which triggers compaction, not a gap in the conversation.
    body |= {"truncate": False, "shift": False}
    if request.tools:
        body["tools"] = [function_tool(tool) for tool in request.tools]
    elif request.output_schema is not None:
        # With an enforced schema the model cannot call tools.
        body["format"] = request.output_schema.schema
    if options := _options(request, card):
        body["options"] = options
    think = _think(request.spec, card)
    if think is not None:
        body["think"] = think
    if keep_alive:
        body["keep_alive"] = keep_alive
    return body


def _options(request: Request, card: ModelCard) -> JsonObject:
    fields: JsonObject = {
        "num_ctx": card.num_ctx,
        "num_predict": request.max_tokens,
        "temperature": request.temperature,
    }
    return {name: value for name, value in fields.items() if value is not None}


def _think(spec: ModelSpec, card: ModelCard) -> bool | str | None:
    """Return the thinking parameter; None if the model may not support it, which would be rejected."""
    if "gpt-oss" in spec.model_id:
        return _effort(spec.thinking)
    if card.capabilities is None and spec.thinking == "off":
        return None
    return spec.thinking != "off" if card.can("thinking") else None


def _effort(level: ThinkingLevel) -> str:
    # This model always thinks and takes an effort level only.
    return {"medium": "medium", "high": "high", "extra-high": "high"}.get(level, "low")


def _messages(spec: ModelSpec, messages: Iterable[ModelMessage]) -> Iterator[JsonObject]:
    # Templates expect images in user messages.
    for message in with_result_images(messages):
        match message:
            case ToolResult():
                yield _result(message)
            case UserMessage():
                yield from _user_message(message.content)
            case AssistantMessage():
                yield from _reply(spec, message)


def _user_message(content: Iterable[UserContent]) -> Iterator[JsonObject]:
    texts: list[str] = []
    images: list[str] = []
    for block in content:
        match block:
            case Text(text):
                texts += [text] if text.strip() else []
            case Image(_, data):
                images.append(data)
    if texts or images:
        message: JsonObject = {"role": "user", "content": "\n".join(texts)}
        if images:
            message["images"] = [*images]
        yield message


def _result(message: ToolResult) -> JsonObject:
    return {
        "role": "tool",
        "tool_name": tool_name(message.tool_name),
        "tool_call_id": safe_name(message.call_id),
        "content": result_message_text(message),
    }


def _reply(spec: ModelSpec, message: AssistantMessage) -> Iterator[JsonObject]:
    text, calls = message.text, message.tool_calls
    if not calls:
        if text.strip():
            yield {"role": "assistant", "content": text}
        return
    reply: JsonObject = {"role": "assistant", "content": text if text.strip() else ""}
    thought = "".join(block.text for block in message.content if isinstance(block, Thinking))
    if thought and is_same_model(message, spec):
        reply["thinking"] = thought
    reply["tool_calls"] = [_call(call) for call in calls]
    yield reply


def _call(call: ToolCall) -> JsonObject:
    return {"id": safe_name(call.id), "function": {"name": tool_name(call.name), "arguments": call.arguments}}
