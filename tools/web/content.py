"""Content of a response for the model: type, charset, and conversion to text or an image.

May take seconds for a large page: to be called in a thread.
"""

from __future__ import annotations

import base64
import codecs
import json
import re
from typing import Literal, TypeAlias

from msgspec import Struct

from harness.messages import Image
from tools.file_type import ImageHeader, binary_kind, image_header
from tools.untrusted_text import cleaned_text
from tools.web.download import Download, FetchError

LARGEST_IMAGE = 5 * 1024 * 1024
LARGEST_PRETTY = 4 * 1024 * 1024
DETECTED_BYTES = 64 * 1024
_HEAD = 2_048

ContentType: TypeAlias = Literal["html", "pdf", "json", "image", "text"]

_HTML_TYPES = frozenset(("text/html", "application/xhtml+xml"))
_VAGUE_TYPES = frozenset(("", "application/octet-stream", "binary/octet-stream", "application/x-download", "unknown"))
_MEDIA_TYPE = re.compile(r"[\w.+-]{1,50}/[\w.+-]{1,50}", re.ASCII)
# Repeats are bounded: a match holds the interpreter lock, and no time limit or Esc can end it.
_HTML_START = re.compile(rb"<(?:!doctype\s{1,20}html|html|head|body)[\s>]", re.IGNORECASE)
_CHARSET = re.compile(r"charset\s{0,20}=\s{0,20}[\"']?\s{0,20}([\w.:-]{1,80})", re.IGNORECASE)
_META = re.compile(rb"<meta[^>]{0,400}?charset\s{0,20}=\s{0,20}[\"']?\s{0,20}([\w.:-]{1,80})", re.IGNORECASE)
_XML_ENCODING = re.compile(rb"\s*<\?xml[^>]{0,200}?encoding\s{0,20}=\s{0,20}[\"']([\w.:-]{1,80})", re.IGNORECASE)
_BOMS = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
# Browsers read these labels as the larger Windows code pages.
_LABELS = {"iso8859-1": "cp1252", "ascii": "cp1252", "iso8859-9": "cp1254", "gb2312": "gb18030", "gbk": "gb18030"}


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


def page_of(response: Download, *, raw: bool = False) -> Page:
    """Return the content of a response.

    Args:
        response: The response.
        raw: True to return the source of a page instead of its main text.

    Raises:
        FetchError: It has no content that can be shown.
    """
    kind = content_type(response)
    if kind == "image":
        return _image(response)
    if kind == "pdf":
        return _pdf(response)
    text = decoded(response.body, response.headers.get("content-type", ""))
    if kind == "html" and not raw:
        return _html(response, text)
    if kind == "json" and not raw:
        return Page(response.url, "JSON", cleaned_text(_pretty(text)))
    # The server chooses it, and it is shown outside the frame of the page.
    media_type = response.media_type if _MEDIA_TYPE.fullmatch(response.media_type) else "text"
    return Page(response.url, media_type, cleaned_text(text).rstrip())


def content_type(response: Download) -> ContentType:
    """Return the type of a response by its first bytes, otherwise as declared; servers often declare a wrong one.

    Raises:
        FetchError: It is neither text nor a type that can be converted.
    """
    head, declared = response.body[:_HEAD], response.media_type
    if head.lstrip()[:5] == b"%PDF-":
        return "pdf"
    if image_header(head):
        return "image"
    if _bom(head) is None and b"\0" in head:
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
    if body.lstrip()[:1] not in (b"{", b"["):
        return False
    try:
        json.loads(body)
    except (ValueError, RecursionError):
        return False
    return True


def decoded(body: bytes, header: str) -> str:
    """Return a body as text: by its byte order mark, the header, a declaration in it, or by detection.

    Args:
        body: The body.
        header: `Content-Type` header.
    """
    declared = _CHARSET.search(header)
    inside = _META.search(body[:_HEAD]) or _XML_ENCODING.match(body[:_HEAD])
    labels = (_bom(body), declared and declared[1], inside and inside[1].decode("ascii", "replace"), "utf-8")
    names = [name for label in labels if label and (name := _codec(label))]
    for name in names:
        try:
            return body.decode(name)
        except (UnicodeDecodeError, UnicodeError):
            continue
    named = names[0] if len(names) > 1 else ""
    return body.decode(named or _detected(body), "replace")


def _bom(body: bytes) -> str | None:
    return next((name for mark, name in _BOMS if body.startswith(mark)), None)


def _codec(label: str) -> str:
    """Return the name of a codec for text; empty if the label is unknown."""
    try:
        found = codecs.lookup(label)
    except (LookupError, ValueError):
        return ""
    # Such as rot13 and zlib, which a page must not choose.
    is_text = getattr(found, "_is_text_encoding", True) and found.name not in ("idna", "punycode", "unicode_escape")
    return _LABELS.get(found.name, found.name) if is_text and found.name != "raw_unicode_escape" else ""


def _detected(body: bytes) -> str:
    from charset_normalizer import from_bytes  # 30 ms; most pages declare theirs

    best = from_bytes(body[:DETECTED_BYTES]).best()
    return best.encoding if best else "utf-8"


def _html(response: Download, text: str) -> Page:
    from tools.web.html_text import html_to_markdown

    found = html_to_markdown(text, response.url)
    notes: list[str] = []
    if len(found.text) < 200 and text.lower().count("<script") > 2:
        notes.append("The page has little text without JavaScript, which is not run; look for an API or another page.")
    if found.is_cut:
        notes.append("The page is very long; its end is missing. Its source can be read with raw=true.")
    return Page(response.url, "HTML as Markdown", found.text, found.title, notes=tuple(notes))


def _pdf(response: Download) -> Page:
    from tools.web.pdf_text import pdf_text

    found = pdf_text(response.body)
    return Page(response.url, f"PDF, {found.pages} pages", cleaned_text(found.text), found.title, notes=found.notes)


def _pretty(text: str) -> str:
    if len(text) > LARGEST_PRETTY:
        return text
    try:
        parts = json.JSONEncoder(indent=2, ensure_ascii=False).iterencode(json.loads(text))
        shown: list[str] = []
        room = 2 * LARGEST_PRETTY
        for part in parts:
            room -= len(part)
            if room < 0:
                # Deep nesting costs more in indentation than it helps.
                return text
            shown.append(part)
    except (ValueError, RecursionError):
        return text
    return "".join(shown)


def _image(response: Download) -> Page:
    header = image_header(response.body) or ImageHeader("image/png")
    if len(response.body) > LARGEST_IMAGE:
        raise FetchError(f"{response.url} is an image of {len(response.body):,} bytes; the limit is 5 MB.")
    data = base64.b64encode(response.body).decode("ascii")
    size = (header.width, header.height)
    return Page(response.url, header.media_type, "", image=Image(header.media_type, data), size=size)
