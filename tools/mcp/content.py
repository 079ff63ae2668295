"""Content of results, resources and prompts, for the model and the user: cleaned, bounded, binary data in files."""

from __future__ import annotations

import asyncio
import base64
import binascii
import json
import re
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from harness.messages import Image, JsonValue, Text, UserContent, new_id
from harness.ports.tool import ToolContext, ToolOutput
from harness.truncation import truncate
from harness.views import ImageView, TextView
from tools.file_type import image_header
from tools.mcp.state import RequestFailed, ServerError, clean_line
from tools.mcp.wire import MAX_BLOCKS
from tools.private_files import suffix_of, write_private
from tools.untrusted_text import cleaned_text, framed, framed_content

if TYPE_CHECKING:
    import mcp_types as types

MAX_IMAGES = 10
MAX_IMAGE_BYTES = 5 * 1024 * 1024
MAX_DETAILS_CHARS = 200_000
"""Length of structured content, as JSON, up to which programs receive it."""
MAX_STRUCTURED_CHARS = 1_000_000
"""Maximum length of structured content as text."""
SHOWN_CHARS = 30_000
"""Maximum length of the text that the user is shown."""
URI_CHARS = 500


class Content(Struct, frozen=True):
    """Content for the model, and an image for the user."""

    blocks: tuple[UserContent, ...]
    """Content for the model."""
    view: ImageView | None = None
    """The image if there is only one, and little text."""


async def output_of(result: types.CallToolResult, context: ToolContext, source: str) -> ToolOutput:
    """Return the output of a call, framed as data from `source`."""
    # Decoding, cleaning and writing large data takes a while.
    return await asyncio.to_thread(_output, result, context, source)


def _output(result: types.CallToolResult, context: ToolContext, source: str) -> ToolOutput:
    found = _Reader(context.spill_dir, context.call_id).read(result.content)
    structured: JsonValue = result.structured_content
    as_text = "" if structured is None else _as_text(structured)
    blocks = found.blocks
    if as_text and not any(isinstance(each, Text) and each.text.strip() for each in blocks):
        blocks = (*blocks, Text(cleaned_text(as_text)))
    output = framed_output(blocks, context, source)
    return replace(
        output,
        view=found.view or output.view,
        details={"structured_content": structured} if structured and len(as_text) <= MAX_DETAILS_CHARS else None,
        is_error=bool(result.is_error),
    )


def framed_output(content: Sequence[UserContent], context: ToolContext, source: str) -> ToolOutput:
    """Return content framed for the model, and without the frame for the user."""
    text = "".join(each.text for each in content if isinstance(each, Text))
    shown = truncate(text, context.output_limit(SHOWN_CHARS), lambda gone: f"[… {gone:,} characters left out …]")
    return ToolOutput(framed_content(content, source), TextView(shown) if text else None)


def failure_of(what: str, error: RequestFailed, source: str) -> ToolOutput:
    """Return the output of a failed request; the text of a server is framed.

    Args:
        what: Beginning of the sentence that the error ends.
        error: The error.
        source: Origin of the text.
    """
    text = framed(str(error), source) if isinstance(error, ServerError) else str(error)
    return ToolOutput.failure(f"{what}: {text}", view=TextView(f"{what}: {error}"))


def _as_text(structured: JsonValue) -> str:
    """Return structured content as JSON, truncated to `MAX_STRUCTURED_CHARS`."""
    parts: list[str] = []
    room = MAX_STRUCTURED_CHARS
    # In small parts: other threads run between them, and the rest of long content is never written.
    for part in json.JSONEncoder(ensure_ascii=False, indent=1).iterencode(structured):
        parts.append(part)
        room -= len(part)
        if room < 0:
            return f"{''.join(parts)[:MAX_STRUCTURED_CHARS]}\n[The rest of the structured content was dropped.]"
    return "".join(parts)


async def content_of(blocks: Sequence[types.ContentBlock], folder: Path, name: str) -> Content:
    """Return content blocks of a server as content for the model.

    Args:
        blocks: The blocks.
        folder: Folder for binary data.
        name: Beginning of the names of the files in it.
    """
    # Decoding and writing large data takes a while.
    return await asyncio.to_thread(_Reader(folder, name).read, blocks)


async def contents_of(
    contents: Sequence[types.TextResourceContents | types.BlobResourceContents], folder: Path, name: str
) -> Content:
    """Return the contents of a resource as content for the model; the arguments are those of `content_of`."""
    return await asyncio.to_thread(_Reader(folder, name).read_contents, contents)


async def prompt_content(prompt: types.GetPromptResult, folder: Path, name: str) -> tuple[UserContent, ...]:
    """Return a prompt as content of one message of the user; what it puts into the mouth of the model is quoted."""
    blocks: list[UserContent] = []
    for number, message in enumerate(prompt.messages[:MAX_BLOCKS]):
        found = await content_of([message.content], folder, f"{name}-{number}")
        if message.role == "assistant":
            blocks.append(Text("[Example of a reply:]\n"))
        blocks.extend(found.blocks)
    return tuple(_separated(blocks))


class _Reader:
    def __init__(self, folder: Path, name: str) -> None:
        self._folder = folder
        # Unique: later contents of the same server must not overwrite a file that the conversation names.
        self._name = f"{re.sub(r'[^A-Za-z0-9_-]', '_', name)[:80]}-{new_id()}"
        self._images: list[ImageView] = []
        self._files = 0

    def read(self, blocks: Sequence[types.ContentBlock]) -> Content:
        return self._content([self._block(each) for each in blocks[:MAX_BLOCKS]], len(blocks))

    def read_contents(self, contents: Sequence[types.TextResourceContents | types.BlobResourceContents]) -> Content:
        return self._content([self._resource(each) for each in contents[:MAX_BLOCKS]], len(contents))

    def _content(self, found: list[UserContent], count: int) -> Content:
        if count > MAX_BLOCKS:
            found.append(Text("[Further content blocks were dropped.]"))
        texts = sum(len(each.text) for each in found if isinstance(each, Text))
        view = self._images[0] if len(self._images) == 1 and texts < 1_000 else None
        return Content(tuple(_separated(found)), view)

    def _block(self, block: types.ContentBlock) -> UserContent:
        match block.type:
            case "text":
                return Text(cleaned_text(block.text))
            case "image":
                return self._binary(block.data, block.mime_type, "image")
            case "audio":
                return self._binary(block.data, block.mime_type, "audio")
            case "resource":
                return self._resource(block.resource)
            case "resource_link":
                about = [clean_line(block.title or block.name), block.mime_type or "", block.description or ""]
                text = "; ".join(clean_line(each, 300) for each in about if each)
                return Text(f"[resource {clean_line(block.uri, URI_CHARS)}: {text}]")

    def _resource(self, contents: types.TextResourceContents | types.BlobResourceContents) -> UserContent:
        uri = clean_line(contents.uri, URI_CHARS)
        # By attribute: the types are loaded only with the SDK.
        text = getattr(contents, "text", None)
        if isinstance(text, str):
            return Text(f"[resource {uri}]\n{cleaned_text(text)}")
        return self._binary(str(getattr(contents, "blob", "")), contents.mime_type or "", f"resource {uri}")

    def _binary(self, data: str, media_type: str, what: str) -> UserContent:
        """Return binary data as an image if models can see it; else the note on the file that it is saved in."""
        kind = clean_line(media_type)
        try:
            decoded = base64.b64decode(data, validate=True)
        except (binascii.Error, ValueError):
            return Text(f"[{what} {kind}: the data is not valid base64]")
        header = image_header(decoded[:65_536])
        path = self._save(decoded, header.media_type if header else kind)
        if header and len(decoded) <= MAX_IMAGE_BYTES and len(self._images) < MAX_IMAGES:
            self._images.append(ImageView(path, header.media_type, header.width, header.height))
            return Image(header.media_type, data)
        where = f"saved in {path}" if path else "it could not be saved"
        return Text(f"[{what} {kind}, {len(decoded):,} bytes: {where}]")

    def _save(self, data: bytes, media_type: str) -> str:
        """Write a file that only its owner can read; return its path, or an empty string if that fails."""
        self._files += 1
        path = self._folder / f"mcp-{self._name}-{self._files}{suffix_of(media_type)}"
        with suppress(OSError):
            write_private(path, data, is_new=True)
            return str(path)
        return ""


def _separated(blocks: Sequence[UserContent]) -> list[UserContent]:
    """Return blocks with line breaks between texts, which are joined when a result is truncated."""
    last = len(blocks) - 1
    return [
        Text(f"{each.text}\n") if isinstance(each, Text) and at < last and not each.text.endswith("\n") else each
        for at, each in enumerate(blocks)
    ]
