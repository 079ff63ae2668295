"""Splitter for streamed Markdown: cuts off pieces that later text cannot change.

A piece is one top-level element, one item of a top-level list, or a chunk of a long code block. Drawn alone, it looks
the same as in context.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import cache
from typing import TYPE_CHECKING, TypeAlias

from msgspec import Struct

if TYPE_CHECKING:
    from collections.abc import MutableMapping

    from markdown_it import MarkdownIt
    from markdown_it.token import Token

References: TypeAlias = "dict[str, dict[str, str]]"


# Minimum lines of a code chunk; the maximum is twice as many. A chunk ends where a new block of code seems to start.
CHUNK_LINES = 64

_FENCE = re.compile(r"(`{3,}|~{3,})[ \t]*([^\n]*)\n")


class Piece(Struct, frozen=True):
    """Source that is parsed on its own, or lines of a code block."""

    source: str
    item: int | None = None
    """Number of a list item that continues the list of the previous piece."""
    language: str | None = None
    """Language of a code block, maybe empty; None for other Markdown."""
    continues: bool = False
    """Continues the code block of the previous piece."""


class _Fence(Struct, frozen=True):
    closer: re.Pattern[str]
    language: str


class _Unit(Struct, frozen=True):
    end: int
    item: int | None
    fenced: bool = False


@cache
def parser() -> MarkdownIt:
    # Late import: an empty conversation must not delay the first paint.
    from markdown_it import MarkdownIt

    return MarkdownIt("commonmark", {"linkify": False}).enable(["table", "strikethrough"])


@cache
def _block_parser() -> MarkdownIt:
    from markdown_it import MarkdownIt

    # Inline parsing does not affect block boundaries and takes two thirds of the time.
    return MarkdownIt("commonmark").enable(["table"]).disable(["inline", "text_join"])


class Splitter:
    """Incremental splitter. It emits settled pieces in order; `tail` may still change."""

    def __init__(self) -> None:
        self.tail: str = ""
        self.item: int | None = None
        self.references: References = {}
        self._searched = 0
        self._fence: _Fence | None = None

    def feed(self, text: str) -> None:
        self.tail += text

    @property
    def unfinished(self) -> Piece:
        """Return the incomplete last piece."""
        if self._fence is None:
            return Piece(self.tail, self.item)
        closed = self._fence.closer.search(self.tail + "\n")
        source = self.tail if closed is None else self.tail[: closed.start()]
        return Piece(source, language=self._fence.language, continues=True)

    def settle(self) -> list[Piece]:
        """Return the pieces settled since the last call."""
        pieces: list[Piece] = []
        while (end := self.tail.rfind("\n", self._searched) + 1) > self._searched:
            self._searched = end
            # An incomplete line cannot close anything.
            pieces.extend(self._code(end) if self._fence is not None else self._elements(end))
        return pieces

    def finish(self) -> list[Piece]:
        """Return the remaining pieces at the end of the text."""
        pieces = self.settle()
        if self._fence is not None and self.tail and not self.tail.endswith("\n"):
            self.tail += "\n"
            pieces.extend(self.settle())
        if self._fence is not None and self.tail:
            pieces.append(self._code_piece(self.tail.removesuffix("\n"), self._fence))
            self.tail = ""
        pieces.extend(self._cut(list(self._units(self.tail))[:-1]))
        if self.tail.strip():
            pieces.append(Piece(self.tail, self.item))
            self._define(self.tail)
        self.tail, self.item, self._searched, self._fence = "", None, 0, None
        return pieces

    def _elements(self, end: int) -> list[Piece]:
        units = list(self._units(self.tail[:end]))
        pieces = self._cut(units[:-1])
        if units and units[-1].fenced:
            pieces.extend(self._enter_fence())
        return pieces

    def _enter_fence(self) -> list[Piece]:
        """Start splitting a long open code block; a short one waits for its end."""
        text = self.tail.lstrip("\n")
        opened = _FENCE.match(text)
        if opened is None or text.count("\n") <= CHUNK_LINES:
            return []
        marker = opened.group(1)
        closer = re.compile(rf"^ {{0,3}}{marker[0]}{{{len(marker)},}}[ \t]*\n", re.MULTILINE)
        lines = text[opened.end() :].split("\n")
        length = chunk_length(lines[:-1])
        if not length or closer.search(text, opened.end()):
            return []
        self._fence = _Fence(closer, language_of(opened.group(2)))
        self.tail = "\n".join(lines[length:])
        self._searched = 0
        return [Piece("\n".join(lines[:length]), language=self._fence.language)]

    def _code(self, end: int) -> list[Piece]:
        """Return complete chunks of an open code block, and its last chunk if it was closed."""
        fence = self._fence
        assert fence is not None, "code is only looked for in a fence"
        closed = fence.closer.search(self.tail, 0, end)
        lines = self.tail[: closed.start() if closed else end].split("\n")[:-1]
        pieces: list[Piece] = []
        while length := chunk_length(lines):
            pieces.append(self._code_piece("\n".join(lines[:length]), fence))
            lines = lines[length:]
        if closed is None:
            self.tail = "\n".join([*lines, self.tail[end:]])
            self._searched = self.tail.rfind("\n") + 1
            return pieces
        if lines:
            pieces.append(self._code_piece("\n".join(lines), fence))
        self.tail, self._searched, self._fence, self.item = self.tail[closed.end() :], 0, None, None
        return pieces

    def _code_piece(self, code: str, fence: _Fence) -> Piece:
        return Piece(code, language=fence.language, continues=True)

    def _cut(self, units: Sequence[_Unit]) -> list[Piece]:
        if not units:
            return []
        lines = self.tail.split("\n")
        pieces: list[Piece] = []
        start = 0
        for unit in units:
            source = "\n".join(lines[start : unit.end])
            pieces.append(Piece(source, self.item))
            self.item = unit.item
            start = unit.end
        self._define("\n".join(lines[:start]))
        self.tail = "\n".join(lines[start:])
        self._searched = max(0, self.tail.rfind("\n") + 1)
        return pieces

    def _define(self, source: str) -> None:
        if "]:" in source:
            environment: MutableMapping[str, object] = {"references": self.references}
            _block_parser().parse(source, environment)

    def _units(self, source: str) -> Iterator[_Unit]:
        """Yield the elements of `source`; `item` is the number of the next list item if another item follows."""
        number: int | None = None
        tokens = _block_parser().parse(source, {})
        for index, token in enumerate(tokens):
            if token.map is None:
                continue
            if token.level == 0 and token.type.endswith("list_open"):
                number = self.item if index == 0 and self.item is not None else int(token.attrs.get("start", 1))
            elif token.level == 1 and token.type == "list_item_open":
                number = (number or 0) + 1
                yield _Unit(token.map[1], number if _has_next_item(tokens, index) else None)
            elif token.level == 0 and token.nesting >= 0:
                number = None
                yield _Unit(token.map[1], None, token.type == "fence")


def language_of(info: str) -> str:
    """Return the language in the info string of a code block."""
    return info.strip().partition(" ")[0]


def chunk_length(lines: Sequence[str]) -> int:
    """Return the number of lines of the first chunk of code; 0 if not known yet or if it is not split."""
    for index in range(CHUNK_LINES, min(len(lines), 2 * CHUNK_LINES)):
        if not lines[index - 1].strip() and lines[index][:1].strip():
            return index
    return 2 * CHUNK_LINES if len(lines) > 2 * CHUNK_LINES else 0


def _has_next_item(tokens: Sequence[Token], index: int) -> bool:
    for token in tokens[index + 1 :]:
        if token.level == 1 and token.type == "list_item_open":
            return True
        if token.level == 0:
            return False
    return False
