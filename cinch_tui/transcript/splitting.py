"""Markdown that is still arriving, cut into the pieces that no later text can change.

A piece is one top-level element, or one item of a top-level list: drawn alone it looks as it does in the whole.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from collections.abc import MutableMapping

    from markdown_it import MarkdownIt
    from markdown_it.token import Token

References: TypeAlias = "dict[str, dict[str, str]]"


@dataclass(frozen=True, slots=True)
class Piece:
    """Source that is parsed alone. `item` counts on from the piece before when both are items of one list."""

    source: str
    item: int | None = None


@dataclass(frozen=True, slots=True)
class _Unit:
    end: int
    item: int | None


@cache
def parser() -> MarkdownIt:
    # Late: a conversation that is empty must not wait for this import before its first paint.
    from markdown_it import MarkdownIt

    return MarkdownIt("commonmark", {"linkify": False}).enable(["table", "strikethrough"])


@cache
def _block_parser() -> MarkdownIt:
    from markdown_it import MarkdownIt

    # Inline text has no say in where blocks end, and is two thirds of the work.
    return MarkdownIt("commonmark").enable(["table"]).disable(["inline", "text_join"])


class Splitter:
    """Takes text as it comes. Settled pieces leave it in order; `tail` is what may still change."""

    def __init__(self) -> None:
        self.tail = ""
        self.item: int | None = None
        self.references: References = {}
        self._searched = 0

    def feed(self, text: str) -> None:
        self.tail += text

    def settle(self) -> list[Piece]:
        """The pieces that have become final since the last call."""
        end = self.tail.rfind("\n", self._searched) + 1
        if end <= self._searched:
            return []
        self._searched = end
        # A line without its newline may yet become anything, so it closes nothing.
        units = list(self._units(self.tail[:end]))
        return self._cut(units[:-1])

    def finish(self) -> list[Piece]:
        """All that is left; there will be no more text."""
        units = list(self._units(self.tail))
        pieces = self._cut(units[:-1])
        if self.tail.strip():
            pieces.append(Piece(self.tail, self.item))
            self._define(self.tail)
        self.tail, self.item, self._searched = "", None, 0
        return pieces

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
        """The elements of `source`; `item` is the number the next item would have, where the element is an item
        that another one of the same list follows."""
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
                yield _Unit(token.map[1], None)


def _has_next_item(tokens: Sequence[Token], index: int) -> bool:
    for token in tokens[index + 1 :]:
        if token.level == 1 and token.type == "list_item_open":
            return True
        if token.level == 0:
            return False
    return False
