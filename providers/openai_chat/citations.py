"""What a model's words rest on in Chat Completions, where nearly every service has its own way to tell."""

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
"""Fields of a chunk: the URLs that Perplexity and xAI list, and what Perplexity and Z.AI know of each."""


class CitationCollector:
    """Notes what is told of sources as it comes, and reads it when the text is over."""

    def __init__(self) -> None:
        self._told: dict[str, object] = {}
        self._found: list[Citation | None] = []

    def note_lists(self, chunk: Chunk) -> None:
        """Later lists replace earlier ones: most services send theirs again with every chunk."""
        self._told.update({name: value for name, value in chunk.items() if name in LISTS and value})

    def note_mentions(self, delta: ChunkDelta) -> None:
        """OpenAI's annotations, which many send, and the searches that Groq's systems made."""
        self._found.extend(map(annotated, objects(delta.get("annotations"))))
        for tool in objects(delta.get("executed_tools")):
            results = as_object(tool.get("search_results")).get("results")
            self._found.extend(map(page, objects(results)))

    def note_parts(self, parts: Sequence[Mapping[str, object]]) -> None:
        """Mistral has sources among the parts of the content."""
        for part in parts:
            self._found.extend(_in_part(part))

    def take(self) -> tuple[Citation, ...]:
        """What there is to tell of the text so far."""
        if not self._told and not self._found:
            return ()
        found = merged(self._found)
        results = self._told.get("search_results") or self._told.get("web_search")
        pages = placed(map(page, objects(results)))
        places = listed(self._told.get("citations"), (*found, *pages)) or pages
        self._told, self._found = {}, []
        return joined(places, found)


def _in_part(part: Raw) -> Iterator[Citation | None]:
    if part.get("type") == "tool_reference":
        yield citation(part.get("url"), part.get("title"), part.get("description"))
    elif part.get("type") == "reference":
        # The names of what was given to the model as the result of a tool.
        for name in items(part.get("reference_ids")):
            yield citation("", f"reference {name}")
