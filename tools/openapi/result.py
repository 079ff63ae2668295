"""Results of API calls, as models read them."""

from __future__ import annotations

import asyncio
import re
from urllib.parse import urlsplit

from harness.ports.tool import ToolContext, ToolOutput
from harness.views import TextView
from http_client.content_type import decoded, media_type_of
from http_client.text import plain
from tools.json_layout import layout
from tools.openapi.client import Reply
from tools.openapi.security import Redactor
from tools.private_files import suffix_of, write_private
from tools.untrusted_text import cleaned_text, framed

INLINE_BYTES = 64 * 1024
"""Size up to which a result is built without a thread."""
_SHOWN_HEADERS = ("location", "link", "retry-after", "etag")
_TEXT_TYPES = re.compile(r"text/|.*[/+](json|xml|yaml|x-yaml|javascript|graphql|x-www-form-urlencoded|ndjson)$|^$")
_MEDIA_TYPE = re.compile(r"[\w.+-]{1,50}/[\w.+-]{1,50}", re.ASCII)


async def output_of(call: str, reply: Reply, context: ToolContext, redactor: Redactor, note: str = "") -> ToolOutput:
    """Return the result of a call: the text of the service is cleaned and framed, and has no secrets.

    Args:
        call: Method and URL without secrets.
        reply: The response.
        context: Services of the call; a binary body is saved in its spill folder.
        redactor: Removes secrets that the service repeats.
        note: What to tell the model after a failure.
    """
    if len(reply.body) <= INLINE_BYTES:
        return _output_of(call, reply, context, redactor, note)
    return await asyncio.to_thread(_output_of, call, reply, context, redactor, note)


def _output_of(call: str, reply: Reply, context: ToolContext, redactor: Redactor, note: str) -> ToolOutput:
    head = [f"{call} -> {reply.status} {plain(reply.reason)[:100]}".rstrip()]
    head += [f"{name}: {plain(redactor.text(reply.headers[name]))}" for name in _SHOWN_HEADERS if name in reply.headers]
    if reply.is_foreign:
        head.append("The redirect leads to another origin and was not followed.")
    body = redactor.data(reply.body, is_truncated=reply.is_truncated)
    text = _text(body, reply)
    foot = [_saved(body, media_type_of(reply.headers), context)] if text is None else []
    if not body:
        foot.append("(no body)")
    if reply.is_truncated:
        foot.append(f"[truncated: only the first {len(reply.body):,} bytes were read]")
    if note:
        foot.append(note)
    above, below = redactor.text("\n".join(head)), redactor.text("\n".join(foot))
    # Cleaned first: a hidden character must not divide a secret.
    shown = redactor.text(cleaned_text(text or ""))
    content = framed(shown, urlsplit(call.partition(" ")[2]).hostname or "") if shown else ""
    output = ToolOutput.failure if note or not reply.is_success else ToolOutput.text
    view = "\n".join(part for part in (above, f"\n{shown}" if shown else "", below) if part)
    return output(
        "\n".join(part for part in (above, content, below) if part),
        view=TextView(view),
        details={"status": reply.status},
    )


def _text(body: bytes, reply: Reply) -> str | None:
    """Return a body as text, JSON laid out; None if it is binary."""
    media_type = media_type_of(reply.headers)
    if _TEXT_TYPES.match(media_type) is None:
        try:
            return body.decode() if b"\0" not in body[:4096] else None
        except UnicodeDecodeError:
            return None
    text = decoded(body, reply.headers.get("content-type", ""), is_truncated=reply.is_truncated)
    return layout(text) if "json" in media_type else text


def _saved(body: bytes, media_type: str, context: ToolContext) -> str:
    """Save a binary body, and return a note about it."""
    kind = media_type if _MEDIA_TYPE.fullmatch(media_type) else "binary"
    name = re.sub(r"[^A-Za-z0-9_-]", "_", context.call_id)[:80]
    path = context.spill_dir / f"response-{name}{suffix_of(kind)}"
    try:
        write_private(path, body)
    except OSError as error:
        return f"[{kind}, {len(body):,} bytes; it could not be saved: {error.strerror or error}]"
    return f"[{kind}, {len(body):,} bytes, saved to {path}]"
