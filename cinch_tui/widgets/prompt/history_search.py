"""Prompt history search: newest first, without duplicates."""

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
    """A search; `draft` is the prompt text, with placeholders, when it began."""

    def __init__(self, entries: Sequence[str], draft: str) -> None:
        self.draft = draft
        newest = {entry: index for index, entry in enumerate(entries)}
        self._indices = newest
        order = sorted(newest.items(), key=lambda pair: -pair[1])
        # Casefolded once, not per key; only the start of long texts is searched.
        self._entries = [(entry[:_LONGEST_SEARCHED].casefold(), entry) for entry, _ in order]

    def index_of(self, entry: str) -> int:
        """Return the last index of the entry."""
        return self._indices[entry]

    def find(self, query: str) -> Completion | None:
        """Return entries that contain all words of the query, else those with its letters in order."""
        words = query.casefold().split()
        found = tuple(islice((entry for text, entry in self._entries if _has(words, text)), MAX_CANDIDATES))
        if not found:
            fits = scattered("".join(words))
            found = tuple(islice((entry for text, entry in self._entries if fits(text)), MAX_CANDIDATES))
        candidates = tuple(Candidate(entry, shown=_shown(entry, words)) for entry in found)
        return Completion(0, query, candidates) if candidates else None


def is_query(draft: str) -> bool:
    """Return True if the prompt text may serve as query: one short line."""
    return len(draft) <= _LONGEST_QUERY and "\n" not in draft


def _has(words: Sequence[str], text: str) -> bool:
    # A generator expression is slower than the search itself.
    for word in words:  # noqa: SIM110
        if word not in text:
            return False
    return True


def _shown(entry: str, words: Sequence[str]) -> str:
    """Return the entry in one line, starting shortly before the first match."""
    line = " ⏎ ".join(part.strip() for part in entry.splitlines())
    place = min((at for word in words if (at := line.casefold().find(word)) >= 0), default=0)
    start = place - _BEFORE_MATCH if place > 2 * _BEFORE_MATCH else 0
    return f"{'…' if start else ''}{line[start : start + _LONGEST_SHOWN]}"
