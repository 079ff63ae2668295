"""Incremental parser of tool calls and thinking that a model writes into its text; pure.

Text is passed on as it arrives; a possible start of a call is held back until it is certain. Chunk boundaries make no
difference.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from typing import TypeAlias

from msgspec import Struct

from harness.ports.provider import ToolSpec
from providers.wire.tool_call_dialects import BARE, READERS, SIGNS, Dialect, Fragment, ParsedCall

THINK, END_THINK = "<think>", "</think>"
# Last characters of a call; a long one is only parsed again when one of them arrives.
ENDS = frozenset("}]>")
SHORT = 200


class TextPiece(Struct, frozen=True):
    text: str


class ThinkingPiece(Struct, frozen=True):
    text: str


Piece: TypeAlias = TextPiece | ThinkingPiece | ParsedCall


def dialects_in(template: str) -> frozenset[Dialect]:
    """Return the dialects that a chat template contains; all of them if it contains none."""
    shown: frozenset[Dialect] = frozenset(
        name for name, signs in SIGNS.items() if any(sign in template for sign in signs)
    )
    return shown or frozenset(SIGNS)


class TextToolCalls:
    """Parses one reply.

    Args:
        tools: Known tools; without them nothing is a call.
        dialects: Formats of calls.
        in_thought: True if the prompt ended with the start of a thought.
    """

    def __init__(
        self,
        tools: Sequence[ToolSpec] = (),
        dialects: Collection[Dialect] = frozenset(SIGNS),
        *,
        in_thought: bool = False,
    ) -> None:
        self._known = {tool.name: tool.parameters for tool in tools}
        self._readers = {mark: read for mark, (dialect, read) in READERS.items() if tools and dialect in dialects}
        self._beginnings = frozenset(mark[0] for mark in self._readers if mark != BARE)
        self._in_thought = in_thought
        self._pending = ""
        self._is_first = not in_thought
        self._is_fresh = True
        self._is_waiting = False

    def feed(self, text: str) -> list[Piece]:
        # The common case, which must be fast: only a mark could end the current text.
        is_plain = not (self._pending or self._in_thought or self._is_first or self._is_fresh)
        if is_plain and text and not text[-1].isspace() and self._beginnings.isdisjoint(text):
            return [TextPiece(text)]
        self._pending += text
        if self._is_waiting and len(self._pending) > SHORT and ENDS.isdisjoint(text):
            return []
        return list(self._pieces(is_over=False))

    def finish(self) -> list[Piece]:
        """Return what is left at the end of the reply."""
        return list(self._pieces(is_over=True))

    def _pieces(self, *, is_over: bool) -> Iterator[Piece]:
        self._is_waiting = False
        left = -1
        while self._pending and len(self._pending) != left:
            left = len(self._pending)
            if self._is_fresh:
                self._pending = self._pending.lstrip()
            if self._in_thought:
                yield from self._parse_thinking(is_over=is_over)
            else:
                yield from self._parse_text(is_over=is_over)

    def _parse_thinking(self, *, is_over: bool) -> Iterator[Piece]:
        end = self._pending.find(END_THINK)
        if text := self._release(end, (END_THINK,), is_over=is_over):
            yield ThinkingPiece(text)
        if end >= 0:
            self._pending = self._pending.lstrip().removeprefix(END_THINK)
            self._in_thought, self._is_fresh = False, True

    def _parse_text(self, *, is_over: bool) -> Iterator[Piece]:
        if self._is_first and THINK.startswith(self._pending[: len(THINK)]) and not is_over:
            if self._pending.startswith(THINK):
                self._pending = self._pending.removeprefix(THINK)
                self._in_thought, self._is_first = True, False
            return
        at, mark = self._next_mark()
        if mark and not self._pending[:at].strip():
            yield from self._call(mark, at, is_over=is_over)
        elif text := self._release(at, self._readers, is_over=is_over):
            yield TextPiece(text)

    def _next_mark(self) -> tuple[int, str]:
        """Return the position and mark of the next possible call; bare JSON only counts at the start of text."""
        if self._is_fresh and BARE in self._readers and self._pending.startswith(BARE):
            return 0, BARE
        found = [(at, mark) for mark in self._readers if mark != BARE and (at := self._pending.find(mark)) >= 0]
        return min(found, default=(-1, ""))

    def _call(self, mark: str, at: int, *, is_over: bool) -> Iterator[Piece]:
        found = self._readers[mark](Fragment(self._pending[at:], self._known, is_over))
        if found is None:
            self._is_waiting = True
            return
        end = at + found.length
        if not found.calls:
            yield TextPiece(self._pending[:end])
        yield from found.calls
        self._pending = self._pending[end:]
        self._is_first, self._is_fresh = False, bool(found.calls)

    def _release(self, end: int, marks: Collection[str], *, is_over: bool) -> str:
        """Return the text before `end`, or all that cannot be a mark. Trailing blanks wait: a call may follow."""
        if end < 0:
            end = len(self._pending) - (0 if is_over else _overlap(self._pending, marks))
        text = self._pending[:end].rstrip()
        self._pending = self._pending[len(text) :]
        if text:
            self._is_first = self._is_fresh = False
        return text


def _overlap(text: str, marks: Collection[str]) -> int:
    """Return how many characters at the end may be the start of a mark."""
    longest = max(map(len, marks), default=0)
    sizes = range(min(longest - 1, len(text)), 0, -1)
    return next((size for size in sizes if any(mark.startswith(text[-size:]) for mark in marks)), 0)
