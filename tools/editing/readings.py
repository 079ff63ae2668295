"""Readings of an edit whose texts were damaged on their way: copied line numbers, escaped characters.

A reading is tried only if the edit itself matches nothing, and only if both texts are damaged throughout in the same
way: otherwise it is unknown what the new text was meant to be.
"""

from __future__ import annotations

import html
import json
import re
from collections.abc import Callable, Iterator

_NUMBERED = re.compile(r"^ *(\d+)(\t|→|: |[|│] ?)", re.MULTILINE)
_ENTITY = re.compile(r"&(?:lt|gt|amp|quot|apos|#0?39|#x27|#34);")
_ESCAPED_QUOTE = re.compile(r"""\\(["'`])""")

Texts = tuple[str, str]
"""Old and new text."""


def readings(texts: Texts) -> Iterator[tuple[str, Texts]]:
    """Return what the texts may have been, each with the name of the damage."""
    for damage, read in _READINGS:
        read_texts = read(texts)
        if read_texts is not None and read_texts[0] != texts[0]:
            yield damage, read_texts


def _without_numbers(texts: Texts) -> Texts | None:
    """Return the texts without line numbers copied from the output of a tool.

    The new text has them as well if it begins with the same one, or keeps a line with its number.
    """
    old, new = texts
    lines = old.rstrip("\n").split("\n")
    found = [match for line in lines if (match := _NUMBERED.match(line))]
    first, separator = (int(found[0][1]), found[0][2]) if found else (0, "")
    if len(found) < len(lines) or [int(match[1]) for match in found] != list(range(first, first + len(lines))):
        return None
    is_numbered = new.startswith(found[0][0]) or not {line for line in lines if line.strip()}.isdisjoint(
        new.split("\n")
    )
    bare = _NUMBERED.sub(lambda match: "" if match[2] == separator else match[0], new) if is_numbered else new
    return _NUMBERED.sub("", old), bare


def _without_entities(texts: Texts) -> Texts | None:
    """Return the texts with HTML entities decoded, if each kind of character is encoded wherever it occurs."""
    encoded = {html.unescape(entity[0]) for text in texts for entity in _ENTITY.finditer(text)}
    for text in texts:
        bare = _ENTITY.sub("", text)
        if any(char in bare for char in encoded):
            return None
    return (_decoded(texts[0]), _decoded(texts[1])) if encoded else None


def _decoded(text: str) -> str:
    return _ENTITY.sub(lambda entity: html.unescape(entity[0]), text)


def _without_json_escapes(texts: Texts) -> Texts | None:
    """Return the texts with the escapes of a JSON string decoded, unless only quotes seem to be escaped."""
    if not _has_other_escape(texts[0]) and _has_other_escape(texts[1]):
        return None
    try:
        old, new = (json.loads(f'"{text}"') for text in texts)
        # Half of a surrogate pair is no character.
        f"{old}{new}".encode()
    except ValueError:
        return None
    return old, new


def _without_escaped_quotes(texts: Texts) -> Texts | None:
    """Return the texts without the backslash before quotes, if each kind of quote has one wherever it occurs."""
    escaped = {quote[1] for text in texts for quote in _ESCAPED_QUOTE.finditer(text)}
    is_one_line = all("\n" not in text for text in texts)
    if not escaped or (is_one_line and any(map(_has_other_escape, texts))):
        return None
    for text in texts:
        # Two backslashes may be an escaped one, or the second may belong to the quote.
        if any(f"\\\\{quote}" in text or quote in _ESCAPED_QUOTE.sub("", text) for quote in escaped):
            return None
    return _ESCAPED_QUOTE.sub(r"\1", texts[0]), _ESCAPED_QUOTE.sub(r"\1", texts[1])


def _has_other_escape(text: str) -> bool:
    return "\\" in _ESCAPED_QUOTE.sub("", text)


_READINGS: tuple[tuple[str, Callable[[Texts], Texts | None]], ...] = (
    ("copied line numbers", _without_numbers),
    ("HTML entities", _without_entities),
    ("escapes", _without_json_escapes),
    ("escaped quotes", _without_escaped_quotes),
)
