"""Lines of a model's reply, in the shape that Claude Code's readers expect.

Those readers send on what they find: only what a Claude model may be sent again is in the message, the rest is under
`cinch`.
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
"""Claude Code's own words for it, which its readers recognise."""
SYNTHETIC = "<synthetic>"
"""The model of an error: such a reply is shown by Claude Code and never sent on."""


def assistant_lines(message: AssistantMessage, parent: str | None, envelope: Envelope) -> list[JsonObject]:
    """One line for each block, chained; a reply that failed, was interrupted or is empty ends with a closing line."""
    facts = _reply_facts(message)
    lines: list[JsonObject] = []
    for index, block in enumerate(message.content):
        line = _wrapped("assistant", message, index, parent, envelope)
        line["message"] = _api_message(message, [api_block(block)] if _may_be_sent_on(block, message.model) else [])
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
    """How the reply ended, for readers; not part of its content."""
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


def _may_be_sent_on(block: AssistantContent, model: str) -> bool:
    """False for thinking without a signature of a Claude model: its API refuses a request that holds such thinking."""
    return not isinstance(block, Thinking) or bool((block.signature or block.redacted) and "claude" in model.lower())


def api_block(block: AssistantContent) -> JsonObject:
    """A block in the form of the Messages API."""
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
    """The parts of a block that Claude Code's format has no place for, or that must not be sent on."""
    facts: JsonObject = {}
    if not _may_be_sent_on(block, model):
        facts["thinking"] = encode(block)
    if isinstance(block, Text | ToolCall) and block.signature is not None:
        facts["signature"] = block.signature
    if isinstance(block, Text) and block.citations:
        facts["citations"] = [encode(each) for each in block.citations]
    return facts


def _api_message(message: AssistantMessage, blocks: list[JsonValue]) -> JsonObject:
    return {
        # Ours and not the service's: some services give every reply the same id, and readers join replies by it.
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
    """Tokens by the names of the Messages API."""
    return {
        "input_tokens": usage.input,
        "cache_creation_input_tokens": usage.cache_write,
        "cache_read_input_tokens": usage.cache_read,
        "output_tokens": usage.output,
    }


def usage_line(session_id: str, time: float, model: str, usage: Usage, after: str | None = None) -> JsonObject:
    """A note of usage that no reply carries; it counts in conversations that hold the line `after`."""
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
