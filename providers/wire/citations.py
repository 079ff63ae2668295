"""Parsing of citations from untrusted responses; pure.

Invalid parts are dropped: an invalid citation must not lose the reply.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import islice
from typing import Any, TypeAlias

from harness.messages import Citation

MAX_CITATIONS = 200
"""Citations of one block; further ones are dropped."""
LONGEST_URL = 2_000
LONGEST_TITLE = 300
LONGEST_QUOTE = 2_000

Raw: TypeAlias = "Mapping[str, Any]"
"""Third-party JSON."""

UNREADABLE = Citation("")


def citation(
    url: object, title: object = "", quote: object = "", start: object = None, end: object = None
) -> Citation | None:
    """Return a citation; None if it contains neither a URL nor a title."""
    address = _text(url, LONGEST_URL + 1)
    if len(address) > LONGEST_URL:
        address = ""
    name = _text(title, LONGEST_TITLE)
    if not address and not name:
        return None
    first, last = _position(start), _position(end)
    if first is None or last is None or last < first:
        first = last = None
    return Citation(address, name, _text(quote, LONGEST_QUOTE), first, last)


def merged(found: Iterable[Citation | None]) -> tuple[Citation, ...]:
    """Return each citation once, in order of first occurrence."""
    return tuple(dict.fromkeys(each for each in found if each is not None))[:MAX_CITATIONS]


def placed(found: Iterable[Citation | None]) -> tuple[Citation, ...]:
    """Return citations by position, to which the text may refer; an invalid one is empty."""
    kept = [each or UNREADABLE for each in islice(found, MAX_CITATIONS)]
    while kept and kept[-1] is UNREADABLE:
        kept.pop()
    return tuple(kept)


def listed(urls: object, known: Iterable[Citation] = ()) -> tuple[Citation, ...]:
    """Return a list of URLs, to which the text refers by number, with the details in `known`."""
    details = {each.url: Citation(each.url, each.title, each.quote) for each in known if each.url}
    return tuple(details.get(each.url, each) for each in placed(map(citation, items(urls))))


def joined(places: Sequence[Citation], found: Sequence[Citation]) -> tuple[Citation, ...]:
    """Return a list whose positions have a meaning, followed by the citations it lacks."""
    named = {each.url for each in places if each.url}
    return (*places, *(each for each in found if each.url not in named))[:MAX_CITATIONS]


def page(raw: Raw) -> Citation | None:
    """Return the citation of a search result, in the format of most services."""
    url = raw.get("url") or raw.get("link")
    return citation(url, raw.get("title"), raw.get("snippet") or raw.get("content"))


def annotated(raw: Raw, shift: int = 0) -> Citation | None:
    """Return the citation of an annotation in either of OpenAI's formats; `shift` is added to its positions."""
    # Chat Completions nests the fields, the Responses API does not.
    details = as_object(raw.get(str(raw.get("type")))) or raw
    name = details.get("title") or details.get("filename") or details.get("file_id") or details.get("document_id")
    start, end = _position(details.get("start_index")), _position(details.get("end_index"))
    if start is not None and end is not None:
        start, end = start + shift, end + shift
    return citation(details.get("url"), name, details.get("content"), start, end)


def items(raw: object) -> list[object]:
    """Return the elements of a list; empty if it is not one."""
    return raw if isinstance(raw, list) else []  # pyright: ignore[reportUnknownVariableType] third-party JSON


def objects(raw: object) -> list[Raw]:
    """Return the objects in a list."""
    return [found for item in items(raw) if (found := as_object(item))]


def as_object(raw: object) -> Raw:
    """Return the value typed as an object; empty if it is not one."""
    # Keys of JSON objects are strings.
    return raw if isinstance(raw, dict) else {}  # pyright: ignore[reportUnknownVariableType]


def _text(value: object, longest: int) -> str:
    return value.strip()[:longest] if isinstance(value, str) else ""


def _position(value: object) -> int | None:
    return value if type(value) is int and value >= 0 else None
