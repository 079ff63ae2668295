"""Source code and rich texts as styled runs."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import pairwise
from typing import TYPE_CHECKING

from rich.style import Style
from rich.text import Text

from cinch_tui.rendering.code import Highlighter, lexer_for_language
from cinch_tui.rendering.safe_text import expand_tabs
from cinch_tui.transcript.lines import Run

if TYPE_CHECKING:
    from cinch_tui.transcript.styles import BlockStyles


def code_runs(code: str, language: str, look: BlockStyles) -> list[Run]:
    """Return highlighted `code` on the code block style; plain if `language` is unknown."""
    base = look.on_base("code-block")
    text = expand_tabs(code)
    lexer = lexer_for_language(language)
    if lexer is None:
        return [(text, base)]
    lines = text.split("\n")
    highlighter = Highlighter(lines, lexer, look.code)
    runs: list[Run] = []
    for index in range(len(lines)):
        if index:
            runs.append(("\n", base))
        runs.extend(text_runs(highlighter.line(index), base))
    return runs


def text_runs(text: Text, base: Style) -> list[Run]:
    """Convert a rich text to runs; later spans override earlier ones."""
    whole = base + _styled(text.style)
    if not text.spans:
        return [(text.plain, whole)] if text.plain else []
    edges = sorted({0, len(text), *_edges(text)})
    runs: list[Run] = []
    for start, end in pairwise(edges):
        style = whole
        for span in text.spans:
            if span.start <= start and span.end >= end:
                style += _styled(span.style)
        if runs and runs[-1][1] == style:
            runs[-1] = (runs[-1][0] + text.plain[start:end], style)
        else:
            runs.append((text.plain[start:end], style))
    return runs


def _edges(text: Text) -> Iterable[int]:
    for span in text.spans:
        yield min(span.start, len(text))
        yield min(span.end, len(text))


def _styled(style: str | Style) -> Style:
    return Style.parse(style) if isinstance(style, str) else style
