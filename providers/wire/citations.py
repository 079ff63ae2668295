"""What services say their models' words rest on, read without trust; pure.

What is odd is left out: a source that cannot be read is no reason to lose the reply.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import islice
from typing import Any, TypeAlias

from harness.messages import Citation

MOST = 200
"""Citations of one block; what comes after them is left out."""
LONGEST_URL = 2_000
LONGEST_TITLE = 300
LONGEST_QUOTE = 2_000

Raw: TypeAlias = "Mapping[str, Any]"
"""Someone else's JSON."""

UNREADABLE = Citation("")


def citation(
    url: object, title: object = "", quote: object = "", start: object = None, end: object = None
) -> Citation | None:
    """A citation of what a service calls so; None where it names nothing that one could look up."""
    address = _text(url, LONGEST_URL + 1)
    if len(address) > LONGEST_URL:
        address = ""
    name = _text(title, LONGEST_TITLE)
    if not address and not name:
        return None
    first, last = _place(start), _place(end)
    if first is None or last is None or last < first:
        first = last = None
    return Citation(address, name, _text(quote, LONGEST_QUOTE), first, last)


def merged(found: Iterable[Citation | None]) -> tuple[Citation, ...]:
    """Each once, in order of first mention."""
    return tuple(dict.fromkeys(each for each in found if each is not None))[:MOST]


def placed(found: Iterable[Citation | None]) -> tuple[Citation, ...]:
    """Each in its place, by which the words may call it; one that cannot be read is empty."""
    kept = [each or UNREADABLE for each in islice(found, MOST)]
    while kept and kept[-1] is UNREADABLE:
        kept.pop()
    return tuple(kept)


def listed(urls: object, known: Iterable[Citation] = ()) -> tuple[Citation, ...]:
    """A list of URLs, to which the words refer by number, with what is `known` of them."""
    told = {each.url: Citation(each.url, each.title, each.quote) for each in known if each.url}
    return tuple(told.get(each.url, each) for each in placed(map(citation, items(urls))))


def joined(places: Sequence[Citation], found: Sequence[Citation]) -> tuple[Citation, ...]:
    """A list whose places have a meaning, and after it what it lacks."""
    named = {each.url for each in places if each.url}
    return (*places, *(each for each in found if each.url not in named))[:MOST]


def page(raw: Raw) -> Citation | None:
    """A result of a search, as most services tell it."""
    url = raw.get("url") or raw.get("link")
    return citation(url, raw.get("title"), raw.get("snippet") or raw.get("content"))


def annotated(raw: Raw, shift: int = 0) -> Citation | None:
    """An annotation of OpenAI's, of either API. `shift`: how many characters of the block come before its text."""
    # Chat Completions wraps what the Responses API does not.
    told = as_object(raw.get(str(raw.get("type")))) or raw
    name = told.get("title") or told.get("filename") or told.get("file_id") or told.get("document_id")
    start, end = _place(told.get("start_index")), _place(told.get("end_index"))
    if start is not None and end is not None:
        start, end = start + shift, end + shift
    return citation(told.get("url"), name, told.get("content"), start, end)


def items(raw: object) -> list[object]:
    """What a list holds; nothing if it is no list."""
    return raw if isinstance(raw, list) else []  # pyright: ignore[reportUnknownVariableType] a list of whatever was sent


def objects(raw: object) -> list[Raw]:
    """The objects that a list holds."""
    return [found for item in items(raw) if (found := as_object(item))]


def as_object(raw: object) -> Raw:
    """The same, known to be an object; empty if it is none."""
    # The keys of an object in JSON are strings.
    return raw if isinstance(raw, dict) else {}  # pyright: ignore[reportUnknownVariableType]


def _text(value: object, longest: int) -> str:
    return value.strip()[:longest] if isinstance(value, str) else ""


def _place(value: object) -> int | None:
    return value if type(value) is int and value >= 0 else None
