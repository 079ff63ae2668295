"""Streamed replies and thinking blocks."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from rich.style import Style

from cinch_tui.rendering.safe_text import expand_tabs
from cinch_tui.transcript.block import Block, Gap, Part, guess_height
from cinch_tui.transcript.lines import BLANK, Line, indented, plain_line, wrap_runs
from cinch_tui.transcript.markdown_splitter import Piece, References, Splitter
from harness.terminal_text import escape_controls

if TYPE_CHECKING:
    from cinch_tui.transcript.styles import BlockStyles

# Characters processed at once; keys are handled between two chunks of a fast stream.
GO = 4_096


class GrowingBlock(Block):
    """Text that arrives in fragments; appending is cheap."""

    def __init__(self, text: str = "") -> None:
        super().__init__()
        self.finished = False
        self._said: list[str] = []
        self._taken = 0
        self._length = 0
        self._newlines = 0
        self._held = ""
        if text:
            self.append(text)
            self.finish()

    @property
    def source(self) -> str:
        if len(self._said) > 1:
            self._said = ["".join(self._said)]
        return self._said[0] if self._said else ""

    @property
    def growing(self) -> bool:
        return not self.finished

    @property
    def is_streaming(self) -> bool:
        return not self.finished

    def append(self, fragment: str) -> None:
        # A carriage return may be the first half of a CRLF.
        text = self._held + fragment if self._held else fragment
        self._held = ""
        if "\r" in text:
            if text.endswith("\r"):
                text, self._held = text[:-1], "\r"
            text = text.replace("\r\n", "\n").replace("\r", "\n")
        text = escape_controls(text)
        self._said.append(text)
        self._length += len(text)
        self._newlines += text.count("\n")

    def finish(self) -> None:
        """Mark the text as complete."""
        self.finished = True
        self._held = ""

    def discard(self) -> None:
        """Discard the text; a retry streams it again."""
        self._said.clear()
        self._held = ""
        self._taken = self._length = self._newlines = 0
        self.redraw()

    def guess(self, width: int) -> int:
        if self._opened_for == width:
            return self.heights.total
        return self.gap + 1 + self._newlines + self._length // max(1, width) if self._length else 0

    def _take(self) -> str:
        text = self.source[self._taken : self._taken + GO]
        self._taken += len(text)
        return text

    @property
    def _waiting(self) -> bool:
        return self._taken < self._length


class PiecePart(Part):
    """A settled piece of Markdown with the blank line before it."""

    __slots__ = ("_apart", "_references", "piece")

    def __init__(self, piece: Piece, references: References, *, apart: bool) -> None:
        super().__init__()
        self.piece = piece
        self._references = references
        self._apart = apart and piece.item is None and not piece.goes_on

    @property
    def text(self) -> str:
        return self.piece.source

    def draw(self, look: BlockStyles, width: int) -> list[Line]:
        # Late import: not needed before the first reply.
        from cinch_tui.transcript.markdown import Page, piece_lines

        lines = piece_lines(self.piece, self._references, Page(look, width))
        return [BLANK, *lines] if self._apart and lines else lines

    def guess(self, width: int) -> int:
        source = self.piece.source.strip("\n")
        return guess_height(source, width) + self._apart


class ReplyBlock(GrowingBlock):
    """A Markdown reply. Settled pieces are drawn once; only the unfinished last one is redrawn."""

    def __init__(self, text: str = "") -> None:
        super().__init__(text)
        self._splitter: Splitter | None = None
        self._tail: PiecePart | None = None

    def redraw(self) -> None:
        super().redraw()
        self._splitter = None
        self._tail = None
        self._taken = 0

    def advance(self, look: BlockStyles, width: int) -> bool:
        self.open(look, width)
        self._extend(look, width)
        return self._waiting

    def make_parts(self) -> list[Part]:
        self._splitter = Splitter()
        self._tail = None
        self._taken = 0
        parts: list[Part] = []
        while self._waiting:
            parts.extend(self._settled(parts))
        self._tail = self._unfinished(parts)
        return parts if self._tail is None else [*parts, self._tail]

    def _extend(self, look: BlockStyles, width: int) -> None:
        if self._tail is not None:
            self.parts.pop()
        first = len(self.parts)
        self.parts.extend(self._settled(self.parts))
        self._tail = self._unfinished(self.parts)
        if self._tail is not None:
            self.parts.append(self._tail)
        if self.gap and not first and self.parts:
            self.parts.insert(0, Gap())
        self.heights.truncate(first)
        self.heights.extend(self._height(part, look, width) for part in self.parts[first:])

    def _settled(self, before: list[Part]) -> list[Part]:
        splitter = self._splitter
        assert splitter is not None, "a reply is opened before it is split"
        splitter.feed(self._take())
        known = len(splitter.references)
        pieces = splitter.finish() if self.finished and not self._waiting else splitter.settle()
        if len(splitter.references) != known:
            _forget_links(before)
        parts: list[Part] = []
        for piece in pieces:
            apart = _holds_text([*before[-2:], *parts[-1:]])
            parts.append(PiecePart(piece, splitter.references, apart=apart))
        return parts

    def _unfinished(self, before: list[Part]) -> PiecePart | None:
        splitter = self._splitter
        if splitter is None or not splitter.tail.strip():
            return None
        piece = splitter.unfinished
        if self._tail is not None and self._tail.piece == piece:
            return self._tail
        return PiecePart(piece, splitter.references, apart=_holds_text(before[-2:]))


def reply_lines(reply: ReplyBlock, look: BlockStyles, width: int) -> list[Line]:
    """Return all lines of a finished reply, for use outside of the transcript."""
    reply.gap = False
    reply.open(look, width)
    return [line for part in reply.parts for line in part.lines(look, width)]


def _holds_text(parts: list[Part]) -> bool:
    return any(not isinstance(part, Gap) for part in parts)


def _forget_links(parts: list[Part]) -> None:
    for part in parts:
        if isinstance(part, PiecePart) and "[" in part.piece.source:
            part.forget()


class _ThoughtPart(Part):
    __slots__ = ("_text",)

    def __init__(self, text: str) -> None:
        super().__init__()
        self._text = text

    @property
    def text(self) -> str:
        return self._text

    def draw(self, look: BlockStyles, width: int) -> list[Line]:
        style = look.on_base("thinking")
        return indented(wrap_runs([(expand_tabs(self._text), style)], width - 2), ("│ ", style), ("│ ", style))

    def guess(self, width: int) -> int:
        return 1 + len(self._text) // max(1, width - 2)


class _ThoughtSummary(Part):
    __slots__ = ("_block",)

    def __init__(self, block: ThinkingBlock) -> None:
        super().__init__()
        self._block = block

    def draw(self, look: BlockStyles, width: int) -> list[Line]:
        style = look.on_base("thinking")
        cursor = look["cursor"] if self._block.selected else Style.null()
        line = plain_line(self._block.headline[:width], style + cursor)
        return [Line(line.segments, gutter=2, fill=look.base + cursor)]

    def guess(self, width: int) -> int:
        return 1


class ThinkingBlock(GrowingBlock):
    """A model's thinking: open while streamed, then folded to one line."""

    def __init__(self, text: str = "") -> None:
        # Sessions do not record the duration.
        self._started = None if text else time.monotonic()
        self.duration: float | None = None
        self._folded = False
        self._last_line = 0
        super().__init__(text)
        self.channel = "thinking"

    @property
    def foldable(self) -> bool:
        return self.finished

    @property
    def folded(self) -> bool:
        return self._folded

    @folded.setter
    def folded(self, folded: bool) -> None:
        self._folded = folded

    def finish(self) -> None:
        if not self.finished and self._started is not None:
            self.duration = time.monotonic() - self._started
        super().finish()
        self._folded = True
        self.redraw()

    def guess(self, width: int) -> int:
        return self.gap + 1 if self.folded and not self.hidden else super().guess(width)

    def make_parts(self) -> list[Part]:
        if self.folded:
            return [_ThoughtSummary(self)] if self._length else []
        source = self.source.rstrip("\n")
        self._last_line = source.rfind("\n") + 1
        lines: list[Part] = [_ThoughtPart(line) for line in source.split("\n")] if source else []
        return [_ThoughtSummary(self), *lines] if self.finished else lines

    def advance(self, look: BlockStyles, width: int) -> bool:
        if not self.parts or self.finished:
            return super().advance(look, width)
        self._append_lines(look, width)
        return False

    def _append_lines(self, look: BlockStyles, width: int) -> None:
        # Only the last line may have changed.
        last = len(self.parts) - 1
        source = self.source.rstrip("\n")
        self.parts[last:] = [_ThoughtPart(line) for line in source[self._last_line :].split("\n")]
        self._last_line = source.rfind("\n") + 1
        self.heights.truncate(last)
        self.heights.extend(self._height(part, look, width) for part in self.parts[last:])

    @property
    def headline(self) -> str:
        mark = "▸" if self.folded else "▾"
        return f"{mark} Thought" if self.duration is None else f"{mark} Thought for {max(1, round(self.duration))}s"
