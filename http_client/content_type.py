"""Media type of a response, and its body as text."""

from __future__ import annotations

import codecs
import re
from collections.abc import Mapping

HEAD_BYTES = 2_048
"""Beginning of a body in which a declaration is searched."""
DETECTED_BYTES = 64 * 1024

# Repeats are bounded: a match holds the interpreter lock, and no time limit or Esc can end it.
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
# Codecs of Python that are not encodings of text in the web.
_INTERNAL = ("idna", "punycode", "undefined", "unicode_escape", "raw_unicode_escape")
# Browsers read these labels as the larger Windows code pages.
_LABELS = {"iso8859-1": "cp1252", "ascii": "cp1252", "iso8859-9": "cp1254", "gb2312": "gb18030", "gbk": "gb18030"}


def media_type_of(headers: Mapping[str, str]) -> str:
    """Return the media type in lower case, without parameters; empty if none is declared.

    Args:
        headers: Headers with names in lower case.
    """
    return headers.get("content-type", "").partition(";")[0].strip().lower()


def decoded(body: bytes, header: str, *, is_truncated: bool = False) -> str:
    """Return a body as text, by its byte order mark, the header, a declaration in it, or by detection.

    Bytes that cannot be decoded are replaced.

    Args:
        body: The body.
        header: `Content-Type` header.
        is_truncated: True if the body may end within a character.
    """
    declared = _CHARSET.search(header)
    inside = _META.search(body[:HEAD_BYTES]) or _XML_ENCODING.match(body[:HEAD_BYTES])
    labels = (marked_charset(body), declared and declared[1], inside and inside[1].decode("ascii", "replace"), "utf-8")
    names = [name for label in labels if label and (name := _codec(label))]
    for name in names:
        try:
            return codecs.getincrementaldecoder(name)().decode(body, final=not is_truncated)
        except UnicodeError:
            continue
    named = names[0] if len(names) > 1 else ""
    return body.decode(named or _detected(body), "replace")


def marked_charset(body: bytes) -> str | None:
    """Return the charset that the byte order mark of a body names; None if it has none."""
    return next((name for mark, name in _BOMS if body.startswith(mark)), None)


def _codec(label: str) -> str:
    """Return the name of a codec for text; empty if the label is unknown."""
    try:
        found = codecs.lookup(label)
    except (LookupError, ValueError):
        return ""
    # Others convert bytes to bytes, such as zlib, which a server must not choose.
    is_text = getattr(found, "_is_text_encoding", True)
    name = found.name.replace("-", "_")
    return _LABELS.get(found.name, found.name) if is_text and name not in _INTERNAL else ""


def _detected(body: bytes) -> str:
    from charset_normalizer import from_bytes  # 30 ms; most responses declare theirs

    best = from_bytes(body[:DETECTED_BYTES]).best()
    return best.encoding if best else "utf-8"
