"""Citations in Gemini's replies: pages and positions, which are counted in bytes."""

from __future__ import annotations

from collections.abc import Iterator

from harness.messages import Citation
from providers.gemini.wire_types import Candidate
from providers.wire.citations import Raw, as_object, citation, items, joined, merged, objects

KINDS = ("web", "retrievedContext", "maps", "image")


class CitationCollector:
    """Collects grounding metadata as it arrives; reads it when the text is complete."""

    def __init__(self) -> None:
        self._grounding: Raw = {}
        self._quoted: list[Raw] = []

    def note(self, candidate: Candidate) -> None:
        """Add a candidate's metadata: grounding replaces earlier grounding, citations may come one by one."""
        grounding = as_object(candidate.get("groundingMetadata"))
        if grounding.get("groundingChunks"):
            self._grounding = grounding
        quoted = as_object(candidate.get("citationMetadata"))
        self._quoted += objects(quoted.get("citationSources") or quoted.get("citations"))

    def take(self, text: str) -> tuple[Citation, ...]:
        """Return the citations of the text."""
        if not self._grounding and not self._quoted:
            return ()
        words = _Located(text)
        pages = [_page(chunk) for chunk in objects(self._grounding.get("groundingChunks"))]
        found = merged((*self._quotations(words), *self._supports(words, pages)))
        self._grounding, self._quoted = {}, []
        return joined(found, merged(pages))

    def _quotations(self, words: _Located) -> Iterator[Citation | None]:
        for raw in self._quoted:
            yield citation(raw.get("uri"), raw.get("title") or raw.get("license"), "", *words.span(raw))

    def _supports(self, words: _Located, pages: list[Citation | None]) -> Iterator[Citation | None]:
        for support in objects(self._grounding.get("groundingSupports")):
            span = words.span(as_object(support.get("segment")))
            for index in items(support.get("groundingChunkIndices")):
                if isinstance(index, int) and 0 <= index < len(pages) and (page := pages[index]):
                    yield citation(page.url, page.title, page.quote, *span)


class _Located:
    """Text in which segments are located."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._bytes = text.encode(errors="replace")

    def span(self, segment: Raw) -> tuple[int | None, int | None]:
        """Return the character range of a segment; None if it is not in the text."""
        words, start, end = segment.get("text"), segment.get("startIndex") or 0, segment.get("endIndex")
        if isinstance(start, int) and isinstance(end, int) and 0 <= start < end <= len(self._bytes):
            first = len(self._bytes[:start].decode(errors="ignore"))
            piece = self._bytes[start:end].decode(errors="ignore")
            if words in (None, piece):
                return first, first + len(piece)
        at = self._text.find(words) if isinstance(words, str) and words else -1
        return (at, at + len(words)) if at >= 0 and isinstance(words, str) else (None, None)


def _page(chunk: Raw) -> Citation | None:
    source = next((found for kind in KINDS if (found := as_object(chunk.get(kind)))), as_object(None))
    url = source.get("uri") or source.get("sourceUri")
    title = source.get("title") or source.get("domain") or source.get("documentName") or source.get("fileSearchStore")
    return citation(url, title, source.get("text"))
