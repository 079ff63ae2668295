"""Outline of one source file."""

from __future__ import annotations

from tools.symbols.definitions import Definition, definitions
from tools.symbols.languages import language_of

_MOST_CHARS = 4_000_000


def outline(path: str, text: str) -> list[Definition]:
    """Return the definitions in a file, in order, with lines and nesting.

    It takes about 0.2 s per MB: call it in a thread.

    Args:
        path: Path or name of the file; its suffix determines the language.
        text: Content of the file.

    Returns:
        The definitions; empty for a language without a grammar, and for more than 4,000,000 characters.
    """
    language = language_of(path)
    if language is None or len(text) > _MOST_CHARS:
        return []
    return definitions(language, text.encode("utf-8", "replace"))
