"""Tool calls and thoughts that a model writes into its text, told apart from what it says; pure and incremental.

Text is handed on as it comes; what may be the beginning of a call is held back until it is sure. Where the text is cut
makes no difference.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from typing import TypeAlias

from harness.lazy_dataclass import dataclass
from harness.ports.provider import ToolSpec
from providers.wire.tool_call_dialects import BARE, READERS, SIGNS, Call, Dialect, Fragment

THINK, THOUGHT = "<think>", "</think>"
# A call ends with one of these; a longer one is only looked at again when one has come.
ENDS = frozenset("}]>")
SHORT = 200


@dataclass(frozen=True, slots=True)
class TextPiece:
    text: str


@dataclass(frozen=True, slots=True)
class ThinkingPiece:
    text: str


Piece: TypeAlias = TextPiece | ThinkingPiece | Call


def dialects_in(template: str) -> frozenset[Dialect]:
    """The dialects that a chat template teaches; all of them if it shows none."""
    shown: frozenset[Dialect] = frozenset(
        name for name, signs in SIGNS.items() if any(sign in template for sign in signs)
    )
    return shown or frozenset(SIGNS)


class TextToolCalls:
    """Reads one reply. Without `tools` nothing is a call. `in_thought`: the prompt opened a thought already."""

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
        self._held = ""
        self._is_first = not in_thought
        self._is_fresh = True
        self._is_waiting = False

    def feed(self, text: str) -> list[Piece]:
        if self._is_amid_words and text and not text[-1].isspace() and self._beginnings.isdisjoint(text):
            return [TextPiece(text)]
        self._held += text
        if self._is_waiting and len(self._held) > SHORT and ENDS.isdisjoint(text):
            return []
        return list(self._pieces(is_over=False))

    @property
    def _is_amid_words(self) -> bool:
        """Whether only a mark could end what is being said, as in nearly all of a reply, which is to cost little."""
        return not (self._held or self._in_thought or self._is_first or self._is_fresh)

    def finish(self) -> list[Piece]:
        """What is left when the reply is over."""
        return list(self._pieces(is_over=True))

    def _pieces(self, *, is_over: bool) -> Iterator[Piece]:
        self._is_waiting = False
        left = -1
        while self._held and len(self._held) != left:
            left = len(self._held)
            if self._is_fresh:
                self._held = self._held.lstrip()
            if self._in_thought:
                yield from self._think(is_over=is_over)
            else:
                yield from self._speak(is_over=is_over)

    def _think(self, *, is_over: bool) -> Iterator[Piece]:
        end = self._held.find(THOUGHT)
        if text := self._release(end, (THOUGHT,), is_over=is_over):
            yield ThinkingPiece(text)
        if end >= 0:
            self._held = self._held.lstrip().removeprefix(THOUGHT)
            self._in_thought, self._is_fresh = False, True

    def _speak(self, *, is_over: bool) -> Iterator[Piece]:
        if self._is_first and THINK.startswith(self._held[: len(THINK)]) and not is_over:
            if self._held.startswith(THINK):
                self._held = self._held.removeprefix(THINK)
                self._in_thought, self._is_first = True, False
            return
        at, mark = self._next_mark()
        if mark and not self._held[:at].strip():
            yield from self._call(mark, at, is_over=is_over)
        elif text := self._release(at, self._readers, is_over=is_over):
            yield TextPiece(text)

    def _next_mark(self) -> tuple[int, str]:
        """Where a call may begin next, and its mark; bare JSON is only one where words could begin."""
        if self._is_fresh and BARE in self._readers and self._held.startswith(BARE):
            return 0, BARE
        found = [(at, mark) for mark in self._readers if mark != BARE and (at := self._held.find(mark)) >= 0]
        return min(found, default=(-1, ""))

    def _call(self, mark: str, at: int, *, is_over: bool) -> Iterator[Piece]:
        found = self._readers[mark](Fragment(self._held[at:], self._known, is_over))
        if found is None:
            self._is_waiting = True
            return
        end = at + found.length
        if not found.calls:
            yield TextPiece(self._held[:end])
        yield from found.calls
        self._held = self._held[end:]
        self._is_first, self._is_fresh = False, bool(found.calls)

    def _release(self, end: int, marks: Collection[str], *, is_over: bool) -> str:
        """The words before `end`, or all that can be no mark. Blanks after them wait: a call may follow."""
        if end < 0:
            end = len(self._held) - (0 if is_over else _overlap(self._held, marks))
        text = self._held[:end].rstrip()
        self._held = self._held[len(text) :]
        if text:
            self._is_first = self._is_fresh = False
        return text


def _overlap(text: str, marks: Collection[str]) -> int:
    """How many characters at the end may be the beginning of a mark."""
    longest = max(map(len, marks), default=0)
    sizes = range(min(longest - 1, len(text)), 0, -1)
    return next((size for size in sizes if any(mark.startswith(text[-size:]) for mark in marks)), 0)
