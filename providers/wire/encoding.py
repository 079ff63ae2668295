"""Parts of a request that several services write alike, and names in the format that services accept; pure."""

from __future__ import annotations

import json
import re
import zlib
from collections.abc import Iterable

from harness.messages import (
    AssistantMessage,
    Image,
    JsonObject,
    JsonValue,
    ModelSpec,
    Text,
    Thinking,
    ToolResult,
    UserContent,
)
from harness.ports.provider import Request, ToolSpec
from harness.thinking_level import ThinkingLevel

NO_OUTPUT = "(no output)"


def filled(fields: JsonObject) -> JsonObject:
    """Return the fields with a value: neither None nor empty."""
    return {name: value for name, value in fields.items() if value not in (None, "", [], {})}


def system_parts(request: Request, *, with_schema: bool) -> list[str]:
    """Return the system prompt and, if `with_schema`, the output schema as an instruction for a service that cannot
    enforce it."""
    parts = [request.system] if request.system.strip() else []
    if request.output_schema is not None and with_schema:
        schema = json.dumps(request.output_schema.schema, ensure_ascii=False)
        parts.append(
            "Your last message must be nothing but JSON that fits this JSON Schema, without a fence around it:\n"
            + schema
        )
    return parts


def system_text(request: Request, *, with_schema: bool) -> str:
    """Return `system_parts` as one text."""
    return "\n\n".join(system_parts(request, with_schema=with_schema))


def function_tool(tool: ToolSpec) -> JsonObject:
    """Return a tool as Chat Completions and chat templates declare it."""
    # A schema from elsewhere may lack what services and templates insist on.
    parameters: JsonObject = {"type": "object", "properties": {}, **tool.parameters}
    function: JsonObject = {"name": tool.name, "description": tool.description, "parameters": parameters}
    return {"type": "function", "function": function}


def data_url(image: Image) -> str:
    return f"data:{image.media_type};base64,{image.data}"


def text_of(content: Iterable[UserContent]) -> str:
    """Return the text blocks of a content, one after the other."""
    return "\n".join(block.text for block in content if isinstance(block, Text) and block.text)


def result_text(text: str, *, is_error: bool) -> str:
    """Return the text of a tool result for a format that cannot mark failures."""
    return f"Error: {text}" if is_error and not text.lower().startswith("error") else text


def without_blanks(content: Iterable[UserContent]) -> list[UserContent]:
    """Return the blocks without blank text, which services reject."""
    return [block for block in content if not isinstance(block, Text) or block.text.strip()]


def is_same_model(message: AssistantMessage, spec: ModelSpec) -> bool:
    """Return True if the model that is asked wrote the message; only then its thinking goes back."""
    return (message.provider, message.model) == (spec.provider, spec.model_id)


def own_thinking(message: AssistantMessage, spec: ModelSpec) -> str:
    """Return the thinking in a message that goes back to the model; empty if another model wrote it."""
    thoughts = (block.text for block in message.content if isinstance(block, Thinking))
    return "".join(thoughts) if is_same_model(message, spec) else ""


def result_message_text(message: ToolResult) -> str:
    """Return a tool result as text, never blank."""
    text = text_of(message.content)
    return result_text(text if text.strip() else NO_OUTPUT, is_error=message.is_error)


def parsed_json(text: str) -> JsonValue:
    """Return the value of JSON text; None if it is invalid."""
    try:
        return json.loads(text)
    except ValueError:
        return None


def limit_with_thinking(limit: int, budget: int) -> int:
    """Return the limit of a reply, which includes its thinking tokens."""
    return limit if limit > budget else limit + budget


def effort_name(level: ThinkingLevel) -> str:
    """Return the effort for a level other than "off", as models with the highest effort name it."""
    return "xhigh" if level == "extra-high" else level


def basic_effort(level: ThinkingLevel) -> str:
    """Return the effort for a level, as models take it that know low, medium and high and always think."""
    return {"medium": "medium", "high": "high", "extra-high": "high"}.get(level, "low")


def safe_name(name: str) -> str:
    """Return a name if it is valid, otherwise a valid one derived from it, practically without collisions.

    Other vendors, and models that err, use characters and lengths that a service rejects, together with the whole
    history.
    """
    if re.fullmatch(r"[a-zA-Z0-9_-]{1,40}", name):
        return name
    plain = re.sub(r"[^a-zA-Z0-9_-]", "_", name)[:31]
    return f"{plain}_{zlib.crc32(name.encode(errors='replace')):08x}"


def tool_name(name: str) -> str:
    """Return a tool name as declared, since models call tools by that name; otherwise a valid one derived from it."""
    return name if re.fullmatch(r"[a-zA-Z0-9_-]{1,64}", name) else safe_name(name)


def nine_letters(name: str) -> str:
    """Return a name if it has nine letters or digits, as Mistral requires, otherwise nine derived from it."""
    if re.fullmatch(r"[a-zA-Z0-9]{9}", name):
        return name
    written = name.encode(errors="replace")
    return f"{zlib.crc32(written):08x}{zlib.adler32(written) % 16:x}"
