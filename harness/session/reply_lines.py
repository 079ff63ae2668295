"""Lines of a reply, in the format that Claude Code's readers expect.

Those readers send on what they find, so the message contains only what a Claude model accepts; everything else is
stored under `cinch`.
"""

from __future__ import annotations

from harness.codec import encode
from harness.messages import (
    AssistantContent,
    AssistantMessage,
    Cost,
    JsonObject,
    JsonValue,
    Text,
    Thinking,
    ToolCall,
    Usage,
)
from harness.session.records import STOP_REASONS, Envelope, line_id, note_line

INTERRUPTED = "[Request interrupted by user]"
"""Claude Code's own text, which its readers recognize."""
SYNTHETIC = "<synthetic>"
"""Model of an error message: Claude Code displays such a reply and never sends it."""


def assistant_lines(message: AssistantMessage, parent: str | None, envelope: Envelope) -> list[JsonObject]:
    """Return one line per block; a reply that failed, was interrupted or is empty ends with a closing line."""
    facts = _reply_facts(message)
    lines: list[JsonObject] = []
    for index, block in enumerate(message.content):
        line = _wrapped("assistant", message, index, parent, envelope)
        line["message"] = _api_message(message, [api_block(block)] if _is_sendable(block, message.model) else [])
        line["cinch"] = {**facts, **_block_facts(block, message.model)}
        lines.append(line)
        parent = line_id(message.id, index)
    if _needs_closing(message):
        lines.append(_closing_line(message, parent, envelope, facts))
    return lines


def _wrapped(kind: str, message: AssistantMessage, index: int, parent: str | None, envelope: Envelope) -> JsonObject:
    wrapped = envelope.wrap(kind, line_id(message.id, index), parent, message.time)
    return {**wrapped, "requestId": message.id, **envelope.tail()}


def _needs_closing(message: AssistantMessage) -> bool:
    return not message.content or (message.stop_reason in ("aborted", "error") and not message.tool_calls)


def _closing_line(message: AssistantMessage, parent: str | None, envelope: Envelope, facts: JsonObject) -> JsonObject:
    """Return a line that describes how the reply ended; it is not part of its content."""
    is_interrupted = message.stop_reason == "aborted"
    line = _wrapped("user" if is_interrupted else "assistant", message, len(message.content), parent, envelope)
    ours: JsonObject = {**facts, "closing": True, "model": message.model}
    if is_interrupted:
        line["message"] = {"role": "user", "content": [{"type": "text", "text": INTERRUPTED}]}
        ours["usage"] = usage_facts(message.usage)
    else:
        reason: JsonObject = {"type": "text", "text": message.error or f"No reply ({message.stop_reason})."}
        line["message"] = {**_api_message(message, [reason]), "model": SYNTHETIC}
        line["isApiErrorMessage"] = True
    line["cinch"] = ours
    return line


def _is_sendable(block: AssistantContent, model: str) -> bool:
    """Return False for thinking without a signature of a Claude model, which its API rejects."""
    return not isinstance(block, Thinking) or bool((block.signature or block.redacted) and "claude" in model.lower())


def api_block(block: AssistantContent) -> JsonObject:
    """Return a block in the format of the Messages API."""
    match block:
        case Text(text):
            return {"type": "text", "text": text}
        case Thinking(_, _, str(redacted)):
            return {"type": "redacted_thinking", "data": redacted}
        case Thinking(text, signature):
            return {"type": "thinking", "thinking": text, "signature": signature or ""}
        case ToolCall(call_id, name, arguments, partial_json):
            unread: JsonObject = {"__unparsedToolInput": {"raw": partial_json}}
            return {"type": "tool_use", "id": call_id, "name": name, "input": unread if partial_json else arguments}


def _block_facts(block: AssistantContent, model: str) -> JsonObject:
    """Return the parts of a block that Claude Code's format lacks or that must not be sent on."""
    facts: JsonObject = {}
    if not _is_sendable(block, model):
        facts["thinking"] = encode(block)
    if isinstance(block, Text | ToolCall) and block.signature is not None:
        facts["signature"] = block.signature
    if isinstance(block, Text) and block.citations:
        facts["citations"] = [encode(each) for each in block.citations]
    return facts


def _api_message(message: AssistantMessage, blocks: list[JsonValue]) -> JsonObject:
    return {
        # Our id and not the service's: some services give every reply the same id, by which readers merge replies.
        "id": f"msg_{message.id.replace('-', '')}",
        "type": "message",
        "role": "assistant",
        "model": message.model,
        "content": blocks,
        "stop_reason": STOP_REASONS.get(message.stop_reason),
        "stop_sequence": None,
        "usage": usage_facts(message.usage),
    }


def usage_facts(usage: Usage) -> JsonObject:
    """Return token counts by their names in the Messages API."""
    return {
        "input_tokens": usage.input,
        "cache_creation_input_tokens": usage.cache_write,
        "cache_read_input_tokens": usage.cache_read,
        "output_tokens": usage.output,
    }


def usage_line(session_id: str, time: float, model: str, usage: Usage, after: str | None = None) -> JsonObject:
    """Return a line for usage that belongs to no reply; it counts in conversations that contain the line `after`."""
    facts: JsonObject = {"model": model, "usage": usage_facts(usage)}
    if usage.cost is not None:
        facts["cost"] = encode(usage.cost)
    if after:
        facts["after"] = after
    return note_line("usage", session_id, time, facts)


def _reply_facts(message: AssistantMessage) -> JsonObject:
    facts: JsonObject = {"provider": message.provider, "stop": message.stop_reason, "responseId": message.response_id}
    if message.error is not None:
        facts["error"] = message.error
    cost: Cost | None = message.usage.cost
    if cost is not None:
        facts["cost"] = encode(cost)
    return facts
