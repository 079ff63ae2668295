"""Results of API calls, as models read them."""

from __future__ import annotations

import asyncio
import codecs
import json
import mimetypes
import os
import re
from pathlib import Path
from typing import TypeAlias

from harness.messages import JsonValue
from harness.ports.tool import ToolContext, ToolOutput
from harness.terminal_text import strip_escapes
from harness.views import TextView
from tools.openapi.client import Reply
from tools.openapi.security import Redactor

MAX_LAYOUT_BYTES = 2_000_000
"""Size above which JSON is returned as received."""
INLINE_BYTES = 64 * 1024
"""Size up to which a result is built without a thread."""
LINE_CHARS = 120
MAX_LEVELS = 20
"""Nesting up to which JSON is laid out on several lines."""
MAX_GROWTH = 3
"""Length of laid-out JSON above which it is returned as received, as a multiple of the received length."""
_SHOWN_HEADERS = ("location", "link", "retry-after", "etag")
_TEXT_TYPES = re.compile(r"text/|.*[/+](json|xml|yaml|x-yaml|javascript|graphql|x-www-form-urlencoded|ndjson)$|^$")
_INTERNAL_CODECS = ("idna", "punycode", "undefined", "unicode_escape", "raw_unicode_escape")
"""Codecs of Python that are not encodings of text in the web."""
Block: TypeAlias = "str | list[str]"


async def output_of(call: str, reply: Reply, context: ToolContext, redactor: Redactor) -> ToolOutput:
    """Return the result of a call.

    Args:
        call: Method and URL without secrets.
        reply: The response.
        context: Services of the call; a binary body is saved in its spill folder.
        redactor: Removes secrets that the service repeats.
    """
    if len(reply.body) <= INLINE_BYTES:
        return _output_of(call, reply, context, redactor)
    return await asyncio.to_thread(_output_of, call, reply, context, redactor)


def _output_of(call: str, reply: Reply, context: ToolContext, redactor: Redactor) -> ToolOutput:
    body = redactor.data(reply.body, is_truncated=reply.is_truncated)
    media_type = reply.headers.get("content-type", "").partition(";")[0].strip().lower()
    head = [f"{call} -> {reply.status} {reply.reason}".rstrip()]
    head += [f"{name}: {strip_escapes(reply.headers[name])}" for name in _SHOWN_HEADERS if name in reply.headers]
    if reply.is_foreign:
        head.append("The redirect leads to another origin and was not followed.")
    text = _text(body, media_type, reply)
    if text is None:
        text = _saved(body, media_type, context)
    if reply.is_truncated:
        text += f"\n[truncated: only the first {len(reply.body):,} bytes were read]"
    shown = redactor.text("\n".join([*head, "", text] if text else [*head, "(no body)"]))
    output = ToolOutput.text if reply.is_success else ToolOutput.failure
    return output(shown, view=TextView(strip_escapes(shown)), details={"status": reply.status})


def _text(body: bytes, media_type: str, reply: Reply) -> str | None:
    """Return a body as text; None if it is binary."""
    is_text = _TEXT_TYPES.match(media_type) is not None or b"\0" not in body[:4096]
    charset = re.search(r"charset=\"?([\w-]+)", reply.headers.get("content-type", ""))
    errors = "strict" if not _TEXT_TYPES.match(media_type) else "replace"
    try:
        text = body.decode(_codec(charset[1]) if charset else "utf-8", errors)
    except UnicodeError:
        return None
    if not is_text:
        return None
    return layout(text) if "json" in media_type and len(body) <= MAX_LAYOUT_BYTES else text


def _codec(label: str) -> str:
    """Return the name of a codec that a service may choose; UTF-8 in place of others."""
    try:
        found = codecs.lookup(label)
    except (LookupError, ValueError):
        return "utf-8"
    is_text = getattr(found, "_is_text_encoding", True)
    return found.name if is_text and label.lower().replace("-", "_") not in _INTERNAL_CODECS else "utf-8"


def _saved(body: bytes, media_type: str, context: ToolContext) -> str:
    """Save a binary body, readable by its owner only, and return a note about it."""
    suffix = mimetypes.guess_extension(media_type) or ".bin"
    name = re.sub(r"[^A-Za-z0-9_-]", "_", context.call_id)[:80]
    path = context.spill_dir / f"response-{name}{suffix}"
    try:
        _write(path, body)
    except OSError as error:
        return f"[{media_type or 'binary'}, {len(body):,} bytes; it could not be saved: {error.strerror or error}]"
    return f"[{media_type or 'binary'}, {len(body):,} bytes, saved to {path}]"


def _write(path: Path, data: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    with os.fdopen(descriptor, "wb") as file:
        file.write(data)


class _Number(str):
    """A number as it was written, so that 1.10 stays what it is."""

    __slots__ = ()


def layout(text: str) -> str:
    """Return JSON with short values on one line and one line for each item of longer ones.

    It takes a third of the tokens of indented JSON, and is as readable. Text that is not JSON is returned as it is.
    """
    try:
        value = json.loads(text, parse_float=_Number, parse_int=_Number)
        shown = _shown(_laid_out(value))
    except (ValueError, RecursionError):
        return text
    # Deep nesting costs more in indentation than it helps.
    return shown if len(shown) <= MAX_GROWTH * len(text) else text


def _laid_out(value: JsonValue, level: int = 0) -> Block:
    """Return a value on one line, or as lines if it is longer than `LINE_CHARS` and not nested too deeply."""
    limit = LINE_CHARS if level < MAX_LEVELS else None
    match value:
        case dict():
            parts = [_prefixed(f"{_dumped(name)}: ", _laid_out(item, level + 1)) for name, item in value.items()]
            return _joined(parts, "{", "}", limit)
        case list():
            return _joined([_laid_out(item, level + 1) for item in value], "[", "]", limit)
        case _Number():
            return str(value)
        case _:
            return _dumped(value)


def _dumped(value: JsonValue) -> str:
    return json.dumps(value, ensure_ascii=False)


def _prefixed(prefix: str, block: Block) -> Block:
    return prefix + block if isinstance(block, str) else [prefix + block[0], *block[1:]]


def _joined(parts: list[Block], opening: str, closing: str, limit: int | None) -> Block:
    if all(isinstance(part, str) for part in parts):
        inline = opening + ", ".join(map(str, parts)) + closing
        if limit is None or len(inline) <= limit:
            return inline
    lines = [opening]
    for index, part in enumerate(parts):
        own = [part] if isinstance(part, str) else list(part)
        own[-1] += "," if index < len(parts) - 1 else ""
        lines += [f" {line}" for line in own]
    return [*lines, closing]


def _shown(block: Block) -> str:
    return block if isinstance(block, str) else "\n".join(block)
