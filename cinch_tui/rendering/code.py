"""Code as styled lines: highlighted lazily, wrapped to a width, with visible control characters."""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from functools import cache
from itertools import accumulate
from typing import TYPE_CHECKING, Protocol

from rich.cells import cell_len, get_character_cell_size
from rich.style import Style
from rich.text import Text

from cinch_tui.rendering.safe_text import LONGEST_LINE, TAB
from cinch_tui.rendering.styles import CodeStyles
from harness.terminal_text import escape_controls

if TYPE_CHECKING:
    from pygments.lexer import Lexer

LEX_AHEAD = 64_000


class Lines(Protocol):
    """Lines laid out for one width, built on demand."""

    def __len__(self) -> int: ...

    def line(self, y: int) -> Text: ...


def shown_line(line: str, longest: int = LONGEST_LINE) -> str:
    """Return one line for display: sanitized, invisible characters marked, tabs expanded, truncated after `longest`."""
    if len(line) > longest:
        line = f"{line[:longest]}… {len(line) - longest:,} more characters"
    return escape_controls(line).expandtabs(TAB)


def shown_lines(text: str) -> list[str]:
    """Return the lines of a text for display. Carriage returns are shown only if some lines lack one."""
    lines = text.removesuffix("\n").split("\n")
    if all(line.endswith("\r") for line in lines[:-1]) and len(lines) > 1:
        lines = [line.removesuffix("\r") for line in lines]
    return [shown_line(line) for line in lines]


@cache
def lexer_for_path(path: str) -> Lexer | None:
    """Return the lexer for a file name; None for an unknown type."""
    # Pygments takes 20 ms to import and its plugin table another 80 ms: load it only when code is shown.
    from pygments.lexers import find_lexer_class_for_filename

    found = find_lexer_class_for_filename(path)
    return found(stripnl=False, ensurenl=False) if found else None


@cache
def lexer_for_language(language: str) -> Lexer | None:
    """Return the lexer for a language name; None if it is unknown or empty."""
    if not language:
        return None
    from pygments.lexers import find_lexer_class_by_name
    from pygments.util import ClassNotFound

    try:
        return find_lexer_class_by_name(language)(stripnl=False, ensurenl=False)
    except ClassNotFound:
        return None


class Highlighter:
    """Lines of one file, highlighted on demand.

    Reading forward continues from the current lexer position; a jump restarts the lexer at the requested line, so that
    a long file is never lexed completely for one screen.
    """

    def __init__(self, lines: Sequence[str], lexer: Lexer | None, styles: CodeStyles) -> None:
        self._lines = lines
        self._lexer = lexer
        self._styles = styles
        self._done: dict[int, Text] = {}
        self._pending: Iterator[Text] = iter(())
        self._next = -1

    def line(self, index: int) -> Text:
        plain = self._lines[index]
        if self._lexer is None:
            return Text(plain)
        if index not in self._done:
            self._read_to(index, self._lexer)
        line = self._done.get(index)
        # A lexer that drops or changes characters must not alter what the user reads.
        return line if line is not None and line.plain == plain else Text(plain)

    def _read_to(self, index: int, lexer: Lexer) -> None:
        running = 0 <= self._next <= index
        if not running or self._size(self._next, index) > LEX_AHEAD:
            self._next = 0 if self._size(0, index) <= LEX_AHEAD else index
            self._pending = _highlighted("\n".join(self._lines[self._next :]), lexer, self._styles)
        while self._next <= index and (line := next(self._pending, None)) is not None:
            self._done[self._next] = line
            self._next += 1

    def _size(self, start: int, end: int) -> int:
        return sum(map(len, self._lines[start:end]))


class CodeLayout:
    """Code or plain text wrapped to a width."""

    def __init__(self, text: str, width: int, lexer: Lexer | None, styles: CodeStyles) -> None:
        self._lines = shown_lines(text)
        self._width = max(1, width)
        self._code = Highlighter(self._lines, lexer, styles)
        self._tops = tops([height(line, self._width) for line in self._lines])

    def __len__(self) -> int:
        return self._tops[-1]

    def line(self, y: int) -> Text:
        index = bisect_right(self._tops, y) - 1
        return wrapped(self._code.line(index), self._width)[y - self._tops[index]]


def tops(heights: Sequence[int]) -> list[int]:
    """Return the first line of each row, followed by the total height."""
    return [0, *accumulate(heights)]


def height(line: str, width: int) -> int:
    """Return the number of lines of `width` cells that `line` occupies."""
    return max(1, math.ceil(len(line) / width)) if line.isascii() else len(_cuts(line, width)) + 1


def wrapped(line: Text, width: int) -> list[Text]:
    """Split the line into pieces that fit the width; a wide character is never split."""
    cuts = _cuts(line.plain, width)
    return list(line.divide(cuts)) if cuts else [line]


def _cuts(line: str, width: int) -> list[int]:
    if line.isascii():
        return list(range(width, len(line), width))
    if cell_len(line) <= width:
        return []
    cuts: list[int] = []
    used = 0
    for index, character in enumerate(line):
        size = get_character_cell_size(character)
        if used + size > width and index:
            cuts.append(index)
            used = 0
        used += size
    return cuts


def _highlighted(text: str, lexer: Lexer, styles: CodeStyles) -> Iterator[Text]:
    line = Text()
    # The public `get_tokens` normalizes newlines and strips blanks, which would shift line numbers.
    for _, token, value in lexer.get_tokens_unprocessed(text):
        name = _style_name(tuple(token))
        style: Style | None = getattr(styles, name) if name else None
        for number, piece in enumerate(value.split("\n")):
            if number:
                yield line
                line = Text()
            line.append(piece, style)
    yield line


_TOKENS = {
    "keyword": "Keyword Operator.Word Generic.Heading Generic.Subheading",
    "constant": "Keyword.Constant Literal Literal.String.Interpol Name.Constant Name.Entity",
    "type": "Keyword.Type Name.Class Name.Exception",
    "number": "Literal.Number",
    "string": "Literal.String",
    "comment": "Comment Literal.String.Doc",
    "function": "Name.Function Name.Decorator Name.Builtin",
    "attribute": "Name.Variable Name.Attribute",
    "tag": "Name.Tag",
    "operator": "Operator",
    "inserted": "Generic.Inserted",
    "deleted": "Generic.Deleted",
}
"""Pygments tokens of each style."""
_STYLE_NAMES = {tuple(token.split(".")): name for name, tokens in _TOKENS.items() for token in tokens.split()}


@cache
def _style_name(token: tuple[str, ...]) -> str:
    """Return the name of the style of a token, or of the nearest token that contains it."""
    while token and token not in _STYLE_NAMES:
        token = token[:-1]
    return _STYLE_NAMES.get(token, "")
