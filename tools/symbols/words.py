"""Words in a source file, which tell where to look for references, and those that it seems to declare.

It takes a tenth of the time of parsing.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence

from msgspec import Struct

from tools.symbols.definitions import Kind

_ASCII_SEPARATORS = bytes(code if chr(code).isalnum() or chr(code) == "_" else ord(" ") for code in range(128)).ljust(
    256
)
SHORTEST_WORD = 3
_LONGEST_WORD = 100
_WORD = re.compile(rf"[^\W\d]\w{{{SHORTEST_WORD - 1},{_LONGEST_WORD - 1}}}")
_COMMENT_LINES = re.compile(
    rb"^[ \t]*(?://|/\*(?!.*\*/[ \t]*\S)|\*[ \t](?!.*\{[ \t]*$)|#[ \t]+(?![ \t]|define\b)).*", re.MULTILINE
)
"""Most of them, in all languages, but no definition: what a file mentions there, it seldom uses."""
_KEYWORDS: dict[str, Kind] = {
    "class": "class",
    "const": "constant",
    "def": "function",
    "define": "macro",
    "enum": "enum",
    "fn": "function",
    "func": "function",
    "function": "function",
    "int": "variable",
    "interface": "interface",
    "let": "variable",
    "module": "module",
    "record": "class",
    "static": "variable",
    "struct": "struct",
    "trait": "trait",
    "type": "type",
    "typedef": "type",
    "union": "struct",
    "var": "variable",
    "void": "variable",
}
"""Words that a name follows in declarations, of all languages, with the kind of the name."""


class Words(Struct, frozen=True):
    """Words in a file."""

    counts: Mapping[str, int]
    """Number of occurrences of each word of at least three letters, without lines of comments."""

    declared: Mapping[str, Kind]
    """Words after a keyword of a declaration."""


def words_in(data: bytes) -> Words:
    """Return the words in a source text. Any bytes are accepted."""
    code = _COMMENT_LINES.sub(b"", data)
    if code.isascii():
        # Splitting takes a quarter of the time of a search.
        tokens = code.translate(_ASCII_SEPARATORS).decode("ascii").split()
    else:
        tokens = _WORD.findall(code.decode("utf-8", "replace"))
    counts = Counter(tokens)
    return Words({word: count for word, count in counts.items() if _is_name(word)}, _declared(tokens, counts))


def _declared(tokens: Sequence[str], counts: Mapping[str, int]) -> dict[str, Kind]:
    found: dict[str, Kind] = {}
    for keyword in _KEYWORDS.keys() & counts.keys():
        at = -1
        for _ in range(counts[keyword]):
            at = tokens.index(keyword, at + 1)
            name = tokens[at + 1] if at + 1 < len(tokens) else ""
            if _is_name(name) and name not in _KEYWORDS:
                found[name] = _KEYWORDS[keyword]
    return found


def _is_name(word: str) -> bool:
    return SHORTEST_WORD <= len(word) <= _LONGEST_WORD and not word[0].isdigit()
