"""Request body of Ollama's chat; pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from harness.messages import (
    AssistantMessage,
    Image,
    JsonObject,
    JsonValue,
    ModelMessage,
    ModelSpec,
    Text,
    ToolCall,
    ToolResult,
    UserContent,
    UserMessage,
)
from harness.ports.provider import Request
from providers.ollama.model_card import ModelCard
from providers.wire.encoding import (
    basic_effort,
    filled,
    function_tool,
    own_thinking,
    result_message_text,
    safe_name,
    system_text,
    tool_name,
    without_blanks,
)
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
    options: JsonObject = {
        "num_ctx": card.num_ctx,
        "num_predict": request.max_tokens,
        "temperature": request.temperature,
    }
    # With an enforced schema the model cannot call tools.
    enforced = request.output_schema.schema if request.output_schema and not request.tools else None
    optional: JsonObject = {
        "tools": [function_tool(tool) for tool in request.tools],
        "format": enforced,
        "options": filled(options),
        "think": _think(request.spec, card),
        "keep_alive": keep_alive,
    }
    return {
        "model": request.spec.model_id,
        "messages": [*messages],
        "stream": True,
        # Too long a prompt must be an error, which triggers compaction, not a gap in the conversation.
        "truncate": False,
        "shift": False,
        **filled(optional),
    }


def _think(spec: ModelSpec, card: ModelCard) -> bool | str | None:
    """Return the thinking parameter; None if the model may not support it, which would be rejected."""
    if "gpt-oss" in spec.model_id:
        # It always thinks and takes an effort level only.
        return basic_effort(spec.thinking)
    if card.capabilities is None and spec.thinking == "off":
        return None
    return spec.thinking != "off" if card.can("thinking") else None


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
    if shown := without_blanks(content):
        texts = [block.text for block in shown if isinstance(block, Text)]
        images: list[JsonValue] = [block.data for block in shown if isinstance(block, Image)]
        yield {"role": "user", "content": "\n".join(texts), **filled({"images": images})}


def _result(message: ToolResult) -> JsonObject:
    return {
        "role": "tool",
        "tool_name": tool_name(message.tool_name),
        "tool_call_id": safe_name(message.call_id),
        "content": result_message_text(message),
    }


def _reply(spec: ModelSpec, message: AssistantMessage) -> Iterator[JsonObject]:
    text = message.text if message.text.strip() else ""
    if not message.tool_calls:
        if text:
            yield {"role": "assistant", "content": text}
        return
    reply: JsonObject = {"role": "assistant", "content": text}
    if thought := own_thinking(message, spec):
        reply["thinking"] = thought
    reply["tool_calls"] = [_call(call) for call in message.tool_calls]
    yield reply


def _call(call: ToolCall) -> JsonObject:
    return {"id": safe_name(call.id), "function": {"name": tool_name(call.name), "arguments": call.arguments}}
