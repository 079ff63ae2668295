"""Citations in Chat Completions, for which nearly every service has its own format."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from harness.messages import Citation
from providers.openai_chat.wire_types import Chunk, ChunkDelta
from providers.wire.citations import (
    Raw,
    annotated,
    as_object,
    citation,
    items,
    joined,
    listed,
    merged,
    objects,
    page,
    placed,
)

LISTS = frozenset(("citations", "search_results", "web_search"))
"""Fields of a chunk: URLs from Perplexity and xAI, and their details from Perplexity and Z.AI."""


class CitationCollector:
    """Collects citations as they arrive; reads them when the text is complete."""

    def __init__(self) -> None:
        self._lists: dict[str, object] = {}
        self._found: list[Citation | None] = []

    def note_lists(self, chunk: Chunk) -> None:
        """Replace earlier lists: most services repeat theirs with every chunk."""
        self._lists.update({name: value for name, value in chunk.items() if name in LISTS and value})

    def note_mentions(self, delta: ChunkDelta) -> None:
        """Add OpenAI's annotations, which many services send, and the search results of Groq's systems."""
        self._found.extend(map(annotated, objects(delta.get("annotations"))))
        for tool in objects(delta.get("executed_tools")):
            results = as_object(tool.get("search_results")).get("results")
            self._found.extend(map(page, objects(results)))

    def note_parts(self, parts: Sequence[Mapping[str, object]]) -> None:
        """Add the references among the content parts, as Mistral sends them."""
        for part in parts:
            self._found.extend(_in_part(part))

    def take(self) -> tuple[Citation, ...]:
        """Return the citations of the text so far."""
        if not self._lists and not self._found:
            return ()
        found = merged(self._found)
        results = self._lists.get("search_results") or self._lists.get("web_search")
        pages = placed(map(page, objects(results)))
        places = listed(self._lists.get("citations"), (*found, *pages)) or pages
        self._lists, self._found = {}, []
        return joined(places, found)


def _in_part(part: Raw) -> Iterator[Citation | None]:
    if part.get("type") == "tool_reference":
        yield citation(part.get("url"), part.get("title"), part.get("description"))
    elif part.get("type") == "reference":
        # Names from tool results.
        for name in items(part.get("reference_ids")):
            yield citation("", f"reference {name}")
