"""Content of a response for the model: type, charset, and conversion to text or an image.

May take seconds for a large page: to be called in a thread.
"""

from __future__ import annotations

import base64
import re
from typing import Literal, TypeAlias

from msgspec import Struct

from harness.messages import Image
from http_client.content_type import HEAD_BYTES, decoded, marked_charset
from tools.deadline import Deadline
from tools.file_type import ImageHeader, binary_kind, image_header
from tools.json_layout import layout
from tools.untrusted_text import cleaned_text
from tools.web.download import Download, FetchError

LARGEST_IMAGE = 5 * 1024 * 1024

ContentType: TypeAlias = Literal["html", "pdf", "json", "image", "text"]

_HTML_TYPES = frozenset(("text/html", "application/xhtml+xml"))
_VAGUE_TYPES = frozenset(("", "application/octet-stream", "binary/octet-stream", "application/x-download", "unknown"))
_MEDIA_TYPE = re.compile(r"[\w.+-]{1,50}/[\w.+-]{1,50}", re.ASCII)
_JSON_START = re.compile(rb"(?:\xef\xbb\xbf)?\s*(?:\{\s*[\"}]|\[\s*(?:[\[{\"\]\d-]|true|false|null))")
# Repeats are bounded: a match holds the interpreter lock, and no time limit or Esc can end it.
_HTML_START = re.compile(rb"<(?:!doctype\s{1,20}html|html|head|body)[\s>]", re.IGNORECASE)


class Page(Struct, frozen=True):
    """Content of a URL."""

    url: str
    """URL after redirects."""
    kind: str
    """Form of the content, such as "HTML as Markdown"."""
    text: str
    """Cleaned text; empty for an image."""
    title: str = ""
    """Title of the page."""
    image: Image | None = None
    """Image, if the URL leads to one."""
    size: tuple[int, int] = (0, 0)
    """Width and height of the image in pixels; 0 = unknown."""
    notes: tuple[str, ...] = ()
    """Sentences for the model on what is missing."""


def page_of(response: Download, deadline: Deadline, *, raw: bool = False) -> Page:
    """Return the content of a response.

    Args:
        response: The response.
        deadline: Time limit of the conversion.
        raw: True to return the source of a page instead of its main text.

    Raises:
        FetchError: It has no content that can be shown.
        TooComplex: The time is over.
    """
    kind = content_type(response)
    if kind == "image":
        return _image(response)
    if kind == "pdf":
        return _pdf(response, deadline)
    text = decoded(response.body, response.headers.get("content-type", ""))
    if kind == "html" and not raw:
        return _html(response, text, deadline)
    if kind == "json" and not raw:
        return Page(response.url, "JSON", cleaned_text(layout(text)))
    # The server chooses it, and it is shown outside the frame of the page.
    media_type = response.media_type if _MEDIA_TYPE.fullmatch(response.media_type) else "text"
    return Page(response.url, media_type, cleaned_text(text).rstrip())


def content_type(response: Download) -> ContentType:
    """Return the type of a response by its first bytes, otherwise as declared; servers often declare a wrong one.

    Raises:
        FetchError: It is neither text nor a type that can be converted.
    """
    head, declared = response.body[:HEAD_BYTES], response.media_type
    if head.lstrip()[:5] == b"%PDF-":
        return "pdf"
    if image_header(head):
        return "image"
    if marked_charset(head) is None and b"\0" in head:
        raise FetchError(
            f"{response.url} is {binary_kind(head)}, {len(response.body):,} bytes; only text, PDF and images are "
            "shown. Download it with a command if it is needed."
        )
    is_json = declared == "application/json" or declared.endswith("+json")
    if _is_html(head) and (declared in _HTML_TYPES | _VAGUE_TYPES or is_json):
        return "html"
    if is_json or (declared in _HTML_TYPES | _VAGUE_TYPES and _is_json(response.body)):
        return "json"
    return "html" if declared in _HTML_TYPES else "text"


def _is_html(head: bytes) -> bool:
    """Return True if the first tag after an XML declaration and comments is one of HTML."""
    rest = head.lstrip()
    if rest[:5].lower() == b"<?xml":
        rest = rest.partition(b">")[2].lstrip()
    while rest.startswith(b"<!--"):
        rest = rest[4:].partition(b"-->")[2].lstrip()
    return _HTML_START.match(rest) is not None


def _is_json(body: bytes) -> bool:
    """Return True if a body begins and ends like a JSON object or array; to parse it would take long."""
    return _JSON_START.match(body[:HEAD_BYTES]) is not None and body[-HEAD_BYTES:].rstrip()[-1:] in (b"}", b"]")


def _html(response: Download, text: str, deadline: Deadline) -> Page:
    from tools.web.html_text import html_to_markdown

    found = html_to_markdown(text, response.url, deadline)
    notes: list[str] = []
    if len(found.text) < 200 and text.lower().count("<script") > 2:
        notes.append("The page has little text without JavaScript, which is not run; look for an API or another page.")
    if found.is_cut:
        notes.append("The page is very long; its end is missing. Its source can be read with raw=true.")
    return Page(response.url, "HTML as Markdown", found.text, found.title, notes=tuple(notes))


def _pdf(response: Download, deadline: Deadline) -> Page:
    from tools.documents.pdf_text import UnreadablePdf, pdf_text

    try:
        found = pdf_text(response.body, deadline)
    except UnreadablePdf as error:
        raise FetchError(str(error)) from error
    return Page(response.url, f"PDF, {found.pages} pages", cleaned_text(found.text), found.title, notes=found.notes)


def _image(response: Download) -> Page:
    header = image_header(response.body) or ImageHeader("image/png")
    if len(response.body) > LARGEST_IMAGE:
        raise FetchError(f"{response.url} is an image of {len(response.body):,} bytes; the limit is 5 MB.")
    data = base64.b64encode(response.body).decode("ascii")
    size = (header.width, header.height)
    return Page(response.url, header.media_type, "", image=Image(header.media_type, data), size=size)
