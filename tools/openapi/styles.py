"""Serialization of parameters: the styles of OpenAPI, which are expansions of RFC 6570.

Source: https://spec.openapis.org/oas/v3.1.1.html#style-values, https://www.rfc-editor.org/rfc/rfc6570#section-3.2
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Literal, TypeAlias
from urllib.parse import quote

from msgspec import Struct

from harness.messages import JsonValue

Style: TypeAlias = Literal["matrix", "label", "simple", "form", "spaceDelimited", "pipeDelimited", "deepObject"]
Pair: TypeAlias = tuple[str, str]
"""Name and value, both percent-encoded."""

STYLES: dict[str, tuple[Style, ...]] = {
    "path": ("simple", "label", "matrix"),
    "query": ("form", "spaceDelimited", "pipeDelimited", "deepObject"),
    "header": ("simple",),
    "cookie": ("form",),
}
"""Styles for each place of a parameter, the default first."""

_DELIMITERS: dict[Style, str] = {"form": ",", "spaceDelimited": "%20", "pipeDelimited": "%7C", "deepObject": ","}
# Without `&`, `+`, `#`, `[` and `]`, which would end the value or not arrive as what they are.
_RESERVED = ":/?@!$'()*,;="


class Serialization(Struct, frozen=True):
    """Way to write a parameter."""

    style: Style = "form"
    """Style."""
    explode: bool = True
    """True to write each item of a list or object separately."""
    allow_reserved: bool = False
    """True to keep reserved characters, such as `/`, as they are."""


def text_of(value: JsonValue) -> str:
    """Return a value that is neither a list nor an object as text; others as JSON."""
    match value:
        case None:
            return ""
        case str():
            return value
        case _:
            return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def encoded(text: str, *, allow_reserved: bool = False) -> str:
    """Percent-encode a text; with `allow_reserved`, only what cannot be part of a query value."""
    if not allow_reserved:
        return quote(text, safe="", errors="replace")
    parts = re.split(r"(%[0-9A-Fa-f]{2})", text)
    return "".join(
        part if index % 2 else quote(part, safe=_RESERVED, errors="replace") for index, part in enumerate(parts)
    )


def path_text(name: str, value: JsonValue, how: Serialization) -> str:
    """Return a path parameter as it replaces `{name}` in the template."""
    prefix, separator = {"label": (".", "."), "matrix": (";", ";")}.get(how.style, ("", ","))
    if how.style == "matrix":
        return prefix + separator.join(_matrix_texts(encoded(name), value, how))
    separator = separator if how.explode else ","
    if isinstance(value, dict) and how.explode:
        return prefix + separator.join(_exploded(value))
    return prefix + separator.join(_flat(value, allow_reserved=how.allow_reserved))


def query_pairs(name: str, value: JsonValue, how: Serialization) -> list[Pair]:
    """Return the pairs of a query parameter, or of a field of a form; none for null and for what is empty."""
    if value is None or value in ([], {}):
        return []
    key, reserved = encoded(name), how.allow_reserved
    if how.style == "deepObject" and isinstance(value, dict | list):
        return [(path, encoded(text, allow_reserved=reserved)) for path, text in _deep(key, value)]
    if how.explode and isinstance(value, dict):
        return [(encoded(each), encoded(text_of(item), allow_reserved=reserved)) for each, item in value.items()]
    texts = _flat(value, allow_reserved=reserved)
    return [(key, text) for text in texts] if how.explode else [(key, _DELIMITERS.get(how.style, ",").join(texts))]


def header_text(value: JsonValue, how: Serialization) -> str:
    """Return a header parameter; headers are not percent-encoded."""
    match value:
        case dict() if how.explode:
            return ",".join(f"{name}={text_of(item)}" for name, item in value.items())
        case dict():
            return ",".join(text for name, item in value.items() for text in (name, text_of(item)))
        case list():
            return ",".join(map(text_of, value))
        case _:
            return text_of(value)


def _matrix_texts(name: str, value: JsonValue, how: Serialization) -> list[str]:
    """Return the assignments of the matrix style, in which RFC 6570 omits `=` before an empty text."""
    if how.explode and isinstance(value, dict):
        return [text.removesuffix("=") for text in _exploded(value)]
    texts = _flat(value, allow_reserved=how.allow_reserved)
    if how.explode or not isinstance(value, dict | list):
        return [f"{name}={text}" if text else name for text in texts]
    return [f"{name}={','.join(texts)}"]


def _exploded(value: dict[str, JsonValue]) -> list[str]:
    return [f"{encoded(name)}={encoded(text_of(item))}" for name, item in value.items()]


def _flat(value: JsonValue, *, allow_reserved: bool) -> list[str]:
    """Return a value as a list of encoded texts; names and values of an object alternate."""
    match value:
        case dict():
            texts = [text for name, item in value.items() for text in (name, text_of(item))]
        case list():
            texts = [text_of(item) for item in value]
        case _:
            texts = [text_of(value)]
    return [encoded(text, allow_reserved=allow_reserved) for text in texts]


def _deep(path: str, value: JsonValue) -> Iterator[Pair]:
    """Yield the pairs of a nested object: `a[b][c]=1`; the items of a list share their name."""
    match value:
        case dict():
            for name, item in value.items():
                yield from _deep(f"{path}%5B{encoded(name)}%5D", item)
        case list():
            for item in value:
                yield from _deep(path, item)
        case _:
            yield path, text_of(value)
