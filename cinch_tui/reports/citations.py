"""Sources cited in a reply, each listed once with a number.

If the text has marks such as [1], the numbers are those of the marks.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from itertools import count

from msgspec import Struct
from msgspec.structs import replace

from harness.messages import AssistantContent, AssistantMessage, Citation, Text

_MARK = re.compile(r"\[(\d{1,3})\]")
_IS_MARK = re.compile(r"\[?\[(\d{1,3})\]\]?(?:\([^()\s]*\))?")
# Excludes characters that end a URL, hide a part of it, or control a terminal.
_LINK = re.compile(r"(?i:https?)://([^\s/?#\\\"<>^`{|}\x00-\x20\x7f-\x9f]+)[^\s\\\"<>^`{|}\x00-\x20\x7f-\x9f]*")
_INVISIBLE = re.compile("[\x00-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2066-\u2069\ufeff]+")


class Source(Struct, frozen=True):
    """A cited page or document. `url` and `title` are as reported by the service; one of them may be empty."""

    number: int
    url: str
    title: str = ""

    @property
    def link(self) -> str:
        """URL that may be opened in a browser; empty if it is not a web page."""
        return self.url if _LINK.fullmatch(self.url) else ""

    @property
    def host(self) -> str:
        found = _LINK.fullmatch(self.url)
        return found[1].rpartition("@")[2] if found else ""

    @property
    def label(self) -> str:
        """Title or, if it has none, URL, on one line."""
        return _plain(self.title) or _plain(self.url).partition("://")[2].rstrip("/") or _plain(self.url)


def sources_of(content: Iterable[AssistantContent]) -> tuple[Source, ...]:
    """Return the sources of a reply, in the order of their numbers."""
    texts = [block for block in content if isinstance(block, Text) and block.citations]
    if not texts:
        return ()
    # The marks in such a text are positions in its list of citations.
    if len(texts) == 1 and _MARK.search(texts[0].text) and all(each.start is None for each in texts[0].citations):
        listed = (Source(number, each.url, each.title) for number, each in enumerate(texts[0].citations, 1))
        return tuple(source for source in listed if source.label)
    return _numbered(_merged((text.text, each) for text in texts for each in text.citations))


def text_with_sources(message: AssistantMessage) -> str:
    """Return the text of a reply, followed by its sources."""
    sources = sources_of(message.content)
    return f"{message.text.rstrip()}\n\n{sources_text(sources)}" if sources else message.text


def sources_text(sources: Sequence[Source]) -> str:
    """Return the list of sources as plain text."""
    lines = (f"[{each.number}] {_line(each)}" for each in sources)
    return "\n".join(("Sources:", *lines))


def sources_markdown(sources: Sequence[Source]) -> str:
    """Return the list of sources in Markdown, with links."""
    return "\n".join(("Sources:", "", *(f"- \\[{each.number}\\] {_linked(each)}" for each in sources)))


def _merged(cited: Iterable[tuple[str, Citation]]) -> list[Source]:
    """Merge citations of the same source, numbered by its mark in the text, or 0."""
    sources: dict[str, Source] = {}
    for text, each in cited:
        known = sources.get(each.url or each.title)
        if known is None:
            mark = _IS_MARK.fullmatch(text[each.start : each.end].strip()) if each.start is not None else None
            known = Source(int(mark[1]) if mark else 0, each.url)
        # Some services report the mark as the title.
        title = "" if each.title == str(known.number) else each.title
        sources[each.url or each.title] = replace(known, title=known.title or title)
    return [source for source in sources.values() if source.label]


def _numbered(sources: Sequence[Source]) -> tuple[Source, ...]:
    taken: dict[int, Source] = {}
    for source in sources:
        if source.number:
            taken.setdefault(source.number, source)
    free = (number for number in count(1) if number not in taken)
    given = (each if taken.get(each.number) is each else replace(each, number=next(free)) for each in sources)
    return tuple(sorted(given, key=lambda each: each.number))


def _line(source: Source) -> str:
    url = _plain(source.url)
    return f"{source.label} – {url}" if url and _plain(source.title) else url or source.label


def _linked(source: Source) -> str:
    label = re.sub(r"([\\`*_\[\]<>&])", r"\\\1", source.label)
    return f"[{label}](<{source.link}>)" if source.link else label


def _plain(text: str) -> str:
    return " ".join(_INVISIBLE.sub(" ", text).split())
