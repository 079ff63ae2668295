"""Fuzzy matching of typed letters, and suggestions for mistyped names."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

_BOUNDARY = re.compile(r"[\w]")


def nearest_names(name: str, known: Iterable[str], *, count: int = 1, cutoff: float = 0.6) -> list[str]:
    """Return up to `count` known names that are similar to this one, best first; `cutoff` is 0 to 1."""
    # Imported late: only a mistake needs it.
    from difflib import get_close_matches

    return get_close_matches(name, list(known), count, cutoff)


def did_you_mean(name: str, known: Iterable[str], *, otherwise: str = "") -> str:
    """Return "; did you mean 'x'?" for the end of an error text, or `otherwise` if nothing is similar."""
    nearest = nearest_names(name, known)
    return f"; did you mean {nearest[0]!r}?" if nearest else otherwise


def rank_matches(query: str, texts: Sequence[str]) -> list[int]:
    """Return the indices of the texts that contain every word of `query`, or its letters in order, best match first.

    An empty query matches all, in order. `texts` must be casefolded by the caller, once instead of for every key press.
    """
    words = query.casefold().split()
    if not words:
        return list(range(len(texts)))
    patterns = [_in_order(word) for word in words]
    scored: list[tuple[int, int]] = []
    for index, text in enumerate(texts):
        score = 0
        for word, pattern in zip(words, patterns, strict=True):
            distance = _distance(word, pattern, text)
            if distance is None:
                break
            score += distance
        else:
            scored.append((score, index))
    return [index for _, index in sorted(scored)]


def match_spans(query: str, text: str) -> list[tuple[int, int]]:
    """Return the spans of `text` that match the words of `query`."""
    folded = text.casefold()
    if len(folded) != len(text):
        return []
    spans: list[tuple[int, int]] = []
    for word in query.casefold().split():
        place = folded.find(word)
        if place >= 0:
            spans.append((place, place + len(word)))
        else:
            spans.extend(_letters(word, folded))
    return spans


def _in_order(word: str) -> re.Pattern[str]:
    """Return a pattern for the letters of a word with anything between them."""
    # Lazy dots would cause catastrophic backtracking.
    return re.compile(re.escape(word[0]) + "".join(f"[^{re.escape(each)}]*{re.escape(each)}" for each in word[1:]))


def _distance(word: str, pattern: re.Pattern[str], text: str) -> int | None:
    place = text.find(word)
    if place == 0:
        return 0
    if place > 0:
        return min(place, 400) + (1_000 if _BOUNDARY.match(text[place - 1]) else 0)
    found = pattern.search(text)
    return 10_000 + min(found.end() - found.start(), 1_000) if found else None


def _letters(word: str, text: str) -> list[tuple[int, int]]:
    found = _in_order(word).search(text)
    spans: list[tuple[int, int]] = []
    place = found.start() if found else len(text)
    for letter in word if found else "":
        place = text.index(letter, place)
        spans.append((place, place + 1))
        place += 1
    return spans
