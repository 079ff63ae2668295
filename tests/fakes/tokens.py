"""Token counts of texts, independent of the estimate of the harness."""

from __future__ import annotations

import re

_PIECES = re.compile(r" ?[A-Za-z]{1,10}|\d{1,3}|[^\w\s]+|[^\W\dA-Za-z]|\s+")


def count_pieces(text: str) -> int:
    """Return the number of pieces into which byte-pair tokenizers split a text before they merge letters.

    A long word counts as several, so that the count is rather too high for English.
    """
    return sum(1 for _ in _PIECES.finditer(text))
