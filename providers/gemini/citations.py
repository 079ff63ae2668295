"""What a model's words rest on, as Gemini tells it beside them: pages, and places that are counted in bytes."""

from __future__ import annotations

from collections.abc import Iterator

from harness.messages import Citation
from providers.gemini.wire_types import Candidate
from providers.wire.citations import Raw, as_object, citation, items, joined, merged, objects

KINDS = ("web", "retrievedContext", "maps", "image")


class CitationCollector:
    """Notes what is told as it comes, and reads it when the text is over."""

    def __init__(self) -> None:
        self._grounding: Raw = {}
        self._quoted: list[Raw] = []

    def note(self, candidate: Candidate) -> None:
        """What the service searched is told anew each time, what it quoted may be told bit by bit."""
        grounding = as_object(candidate.get("groundingMetadata"))
        if grounding.get("groundingChunks"):
            self._grounding = grounding
        quoted = as_object(candidate.get("citationMetadata"))
        self._quoted += objects(quoted.get("citationSources") or quoted.get("citations"))

    def take(self, text: str) -> tuple[Citation, ...]:
        """What there is to tell of the text."""
        if not self._grounding and not self._quoted:
            return ()
        words = _Words(text)
        pages = [_page(chunk) for chunk in objects(self._grounding.get("groundingChunks"))]
        found = merged((*self._quotations(words), *self._supports(words, pages)))
        self._grounding, self._quoted = {}, []
        return joined(found, merged(pages))

    def _quotations(self, words: _Words) -> Iterator[Citation | None]:
        for raw in self._quoted:
            yield citation(raw.get("uri"), raw.get("title") or raw.get("license"), "", *words.span(raw))

    def _supports(self, words: _Words, pages: list[Citation | None]) -> Iterator[Citation | None]:
        for support in objects(self._grounding.get("groundingSupports")):
            span = words.span(as_object(support.get("segment")))
            for index in items(support.get("groundingChunkIndices")):
                if isinstance(index, int) and 0 <= index < len(pages) and (page := pages[index]):
                    yield citation(page.url, page.title, page.quote, *span)


class _Words:
    """A text in which places are found."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._bytes = text.encode(errors="replace")

    def span(self, segment: Raw) -> tuple[int | None, int | None]:
        """The characters of a segment; none where it is not in the text."""
        words, start, end = segment.get("text"), segment.get("startIndex") or 0, segment.get("endIndex")
        if isinstance(start, int) and isinstance(end, int) and 0 <= start < end <= len(self._bytes):
            first = len(self._bytes[:start].decode(errors="ignore"))
            piece = self._bytes[start:end].decode(errors="ignore")
            if words in (None, piece):
                return first, first + len(piece)
        at = self._text.find(words) if isinstance(words, str) and words else -1
        return (at, at + len(words)) if at >= 0 and isinstance(words, str) else (None, None)


def _page(chunk: Raw) -> Citation | None:
    told = next((found for kind in KINDS if (found := as_object(chunk.get(kind)))), as_object(None))
    url = told.get("uri") or told.get("sourceUri")
    title = told.get("title") or told.get("domain") or told.get("documentName") or told.get("fileSearchStore")
    return citation(url, title, told.get("text"))
