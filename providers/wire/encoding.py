"""Parts of a request that several services write alike, and names in the format that services accept; pure."""

from __future__ import annotations

import json
import re
import zlib
from collections.abc import Iterable

from harness.messages import AssistantMessage, JsonObject, JsonValue, ModelSpec, Text, ToolResult, UserContent
from harness.ports.provider import OutputSchema, Request, ToolSpec

NO_OUTPUT = "(no output)"


def schema_prompt(output: OutputSchema) -> str:
    """Return the instruction to answer in a schema, for a service that cannot enforce it."""
    schema = json.dumps(output.schema, ensure_ascii=False)
    return (
        f"Your last message must be nothing but JSON that fits this JSON Schema, without a fence around it:\n{schema}"
    )


def system_text(request: Request, *, with_schema: bool) -> str:
    """Return the system prompt, with the output schema in words where `with_schema` asks for it."""
    parts = [request.system] if request.system.strip() else []
    if request.output_schema is not None and with_schema:
        parts.append(schema_prompt(request.output_schema))
    return "\n\n".join(parts)


def function_tool(tool: ToolSpec) -> JsonObject:
    """Return a tool as Chat Completions and chat templates declare it."""
    # A schema from elsewhere may lack what services and templates insist on.
    parameters: JsonObject = {"type": "object", "properties": {}, **tool.parameters}
    function: JsonObject = {"name": tool.name, "description": tool.description, "parameters": parameters}
    return {"type": "function", "function": function}


def text_of(content: Iterable[UserContent]) -> str:
    """Return the text blocks of a content, one after the other."""
    return "\n".join(block.text for block in content if isinstance(block, Text) and block.text)


def result_text(text: str, *, is_error: bool) -> str:
    """Return the text of a tool result for a format that cannot mark failures."""
    return f"Error: {text}" if is_error and not text.lower().startswith("error") else text


def is_same_model(message: AssistantMessage, spec: ModelSpec) -> bool:
    """Return True if the model that is asked wrote the message; only then its thinking goes back."""
    return (message.provider, message.model) == (spec.provider, spec.model_id)


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
