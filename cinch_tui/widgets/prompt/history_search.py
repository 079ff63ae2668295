"""A search through what was sent before: newest first, each text once."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice

from cinch_tui.widgets.prompt.completion import MAX_CANDIDATES, Candidate, Completion, scattered

FOUND_HINT = ("history", "prompt.submit takes", "prompt.search_history older", "prompt.close_popup back")
NO_MATCH_HINT = ("history: no matches", "prompt.close_popup back")
_LONGEST_QUERY = 60
_BEFORE_MATCH = 24
_LONGEST_SHOWN = 400
_LONGEST_SEARCHED = 2_000


class HistorySearch:
    """`draft` is what stood in the prompt, with its placeholders, when the search began."""

    def __init__(self, entries: Sequence[str], draft: str) -> None:
        """`entries` from oldest to newest."""
        self.draft = draft
        newest = {entry: index for index, entry in enumerate(entries)}
        self._indices = newest
        order = sorted(newest.items(), key=lambda pair: -pair[1])
        # Casefolded once, not at every key; what a person remembers of a long text is in its beginning.
        self._entries = [(entry[:_LONGEST_SEARCHED].casefold(), entry) for entry, _ in order]

    def index_of(self, entry: str) -> int:
        """Where the entry stood last."""
        return self._indices[entry]

    def find(self, query: str) -> Completion | None:
        """The entries with every word of the query; where there is none, those with its letters in their order."""
        words = query.casefold().split()
        found = tuple(islice((entry for text, entry in self._entries if _has(words, text)), MAX_CANDIDATES))
        if not found:
            fits = scattered("".join(words))
            found = tuple(islice((entry for text, entry in self._entries if fits(text)), MAX_CANDIDATES))
        candidates = tuple(Candidate(entry, shown=_shown(entry, words)) for entry in found)
        return Completion(0, query, candidates) if candidates else None


def is_query(draft: str) -> bool:
    """Whether what stands in the prompt may be what is looked for: words in one line."""
    return len(draft) <= _LONGEST_QUERY and "\n" not in draft


def _has(words: Sequence[str], text: str) -> bool:
    # A generator costs more than the search itself.
    for word in words:  # noqa: SIM110
        if word not in text:
            return False
    return True


def _shown(entry: str, words: Sequence[str]) -> str:
    """The entry in one line, from shortly before the first match on."""
    line = " ⏎ ".join(part.strip() for part in entry.splitlines())
    place = min((at for word in words if (at := line.casefold().find(word)) >= 0), default=0)
    start = place - _BEFORE_MATCH if place > 2 * _BEFORE_MATCH else 0
    return f"{'…' if start else ''}{line[start : start + _LONGEST_SHOWN]}"
