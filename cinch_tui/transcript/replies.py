"""Streamed replies and thinking blocks."""

from __future__ import annotations

import time

from rich.style import Style

from cinch_tui.rendering.safe_text import expand_tabs
from cinch_tui.transcript.block import BlockPart, FunctionPart, Gap, TranscriptBlock, guess_height
from cinch_tui.transcript.lines import BLANK, StyledLine, indented, plain_line, wrap_runs
from cinch_tui.transcript.markdown_splitter import Piece, References, Splitter
from cinch_tui.transcript.styles import BlockStyles
from harness.messages import HOSTED_SEARCH
from harness.terminal_text import FragmentEscaper, escape_controls

# Characters processed at once; keys are handled between two chunks of a fast stream.
CHUNK = 4_096


class StreamedBlock(TranscriptBlock):
    """Text that arrives in fragments; appending is cheap."""

    def __init__(self, text: str = "") -> None:
        super().__init__()
        self.finished = False
        self._fragments: list[str] = []
        self._consumed = 0
        self._length = 0
        self._newlines = 0
        self._pending = ""
        self._escaper: FragmentEscaper | None = None
        """Escaper of the text, once it arrives in fragments."""
        if text:
            self._set_text(text)
            self.finish()

    @property
    def source(self) -> str:
        if len(self._fragments) > 1:
            self._fragments = ["".join(self._fragments)]
        return self._fragments[0] if self._fragments else ""

    @property
    def growing(self) -> bool:
        return not self.finished

    def _set_text(self, text: str) -> None:
        """Set the complete text."""
        if "\r" not in text and escape_controls(text) is text:
            # Long sessions have thousands of such texts.
            self._take(text)
        else:
            self.append(text)
            self._end()

    def append(self, fragment: str) -> None:
        # A carriage return may be the first half of a CRLF.
        text = self._pending + fragment if self._pending else fragment
        self._pending = ""
        if "\r" in text:
            if text.endswith("\r"):
                text, self._pending = text[:-1], "\r"
            text = text.replace("\r\n", "\n").replace("\r", "\n")
        if self._escaper is None:
            self._escaper = FragmentEscaper()
        self._take(self._escaper.add(text))

    def _take(self, text: str) -> None:
        self._fragments.append(text)
        self._length += len(text)
        self._newlines += text.count("\n")

    def finish(self) -> None:
        """Mark the text as complete."""
        self.finished = True
        self._end()

    def _end(self) -> None:
        self._pending = ""
        if self._escaper is not None:
            self._take(self._escaper.end())
            self._escaper = None

    def discard(self) -> None:
        """Discard the text; a retry streams it again."""
        self._fragments.clear()
        self._pending = ""
        self._escaper = None
        self._consumed = self._length = self._newlines = 0
        self.invalidate()

    def guess(self, width: int) -> int:
        if self._open_width == width:
            return self.heights.total
        return self.gap + 1 + self._newlines + self._length // max(1, width) if self._length else 0

    def _next_chunk(self) -> str:
        text = self.source[self._consumed : self._consumed + CHUNK]
        self._consumed += len(text)
        return text

    @property
    def _has_more(self) -> bool:
        return self._consumed < self._length


class PiecePart(BlockPart):
    """A settled piece of Markdown with the blank line before it."""

    __slots__ = ("_apart", "_references", "piece")

    def __init__(self, piece: Piece, references: References, *, apart: bool) -> None:
        super().__init__()
        self.piece = piece
        self._references = references
        self._apart = apart and piece.item is None and not piece.continues

    @property
    def text(self) -> str:
        return self.piece.source

    def draw(self, styles: BlockStyles, width: int) -> list[StyledLine]:
        # Late import: not needed before the first reply.
        from cinch_tui.transcript.markdown import DrawContext, piece_lines

        lines = piece_lines(self.piece, self._references, DrawContext(styles, width))
        return [BLANK, *lines] if self._apart and lines else lines

    def guess(self, width: int) -> int:
        source = self.piece.source.strip("\n")
        return guess_height(source, width) + self._apart


class ReplyBlock(StreamedBlock):
    """A Markdown reply. Settled pieces are drawn once; only the unfinished last one is redrawn."""

    _splitter: Splitter | None = None
    _tail: PiecePart | None = None

    def invalidate(self) -> None:
        super().invalidate()
        self._splitter = None
        self._tail = None
        self._consumed = 0

    def advance(self, styles: BlockStyles, width: int) -> bool:
        self.open(styles, width)
        self._extend(styles, width)
        return self._has_more

    def make_parts(self) -> list[BlockPart]:
        self._splitter = Splitter()
        self._tail = None
        self._consumed = 0
        parts: list[BlockPart] = []
        while self._has_more:
            parts.extend(self._settled(parts))
        self._tail = self._unfinished(parts)
        return parts if self._tail is None else [*parts, self._tail]

    def _extend(self, styles: BlockStyles, width: int) -> None:
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
        self.heights.extend(self._height(part, styles, width) for part in self.parts[first:])

    def _settled(self, before: list[BlockPart]) -> list[BlockPart]:
        splitter = self._splitter
        assert splitter is not None, "a reply is opened before it is split"
        splitter.feed(self._next_chunk())
        known = len(splitter.references)
        pieces = splitter.finish() if self.finished and not self._has_more else splitter.settle()
        if len(splitter.references) != known:
            # Links that used the references look different now.
            for part in before:
                if isinstance(part, PiecePart) and "[" in part.piece.source:
                    part.forget()
        parts: list[BlockPart] = []
        for piece in pieces:
            apart = _has_content([*before[-2:], *parts[-1:]])
            parts.append(PiecePart(piece, splitter.references, apart=apart))
        return parts

    def _unfinished(self, before: list[BlockPart]) -> PiecePart | None:
        splitter = self._splitter
        if splitter is None or not splitter.tail.strip():
            return None
        piece = splitter.unfinished
        if self._tail is not None and self._tail.piece == piece:
            return self._tail
        return PiecePart(piece, splitter.references, apart=_has_content(before[-2:]))


def reply_lines(reply: ReplyBlock, styles: BlockStyles, width: int) -> list[StyledLine]:
    """Return all lines of a finished reply, for use outside of the transcript."""
    reply.gap = False
    reply.open(styles, width)
    return [line for part in reply.parts for line in part.lines(styles, width)]


def _has_content(parts: list[BlockPart]) -> bool:
    return any(not isinstance(part, Gap) for part in parts)


def _thought_part(text: str) -> BlockPart:
    def draw(styles: BlockStyles, width: int) -> list[StyledLine]:
        style = styles.on_base("thinking")
        return indented(wrap_runs([(expand_tabs(text), style)], width - 2), ("│ ", style), ("│ ", style))

    return FunctionPart(draw, lambda width: 1 + len(text) // max(1, width - 2), lambda: text)


class ThinkingBlock(StreamedBlock):
    """A model's thinking: open while streamed, then folded to one line."""

    def __init__(self, text: str = "") -> None:
        # Sessions do not record the duration.
        self._started = None if text else time.monotonic()
        self.duration: float | None = None
        self._last_line = 0
        super().__init__(text)
        self.channel = "thinking"

    @property
    def foldable(self) -> bool:
        return self.finished

    def finish(self) -> None:
        if not self.finished and self._started is not None:
            self.duration = time.monotonic() - self._started
        super().finish()
        self._folded = True
        self.invalidate()

    def guess(self, width: int) -> int:
        return self.gap + 1 if self.folded and not self.hidden else super().guess(width)

    def make_parts(self) -> list[BlockPart]:
        if self.folded:
            return [FunctionPart(self._draw_headline)] if self._length else []
        source = self.source.rstrip("\n")
        self._last_line = source.rfind("\n") + 1
        lines: list[BlockPart] = [_thought_part(line) for line in source.split("\n")] if source else []
        return [FunctionPart(self._draw_headline), *lines] if self.finished else lines

    def advance(self, styles: BlockStyles, width: int) -> bool:
        if not self.parts or self.finished:
            return super().advance(styles, width)
        self._append_lines(styles, width)
        return False

    def _append_lines(self, styles: BlockStyles, width: int) -> None:
        # Only the last line may have changed.
        last = len(self.parts) - 1
        source = self.source.rstrip("\n")
        self.parts[last:] = [_thought_part(line) for line in source[self._last_line :].split("\n")]
        self._last_line = source.rfind("\n") + 1
        self.heights.truncate(last)
        self.heights.extend(self._height(part, styles, width) for part in self.parts[last:])

    def _draw_headline(self, styles: BlockStyles, width: int) -> list[StyledLine]:
        cursor = styles["cursor"] if self.selected else Style.null()
        line = plain_line(self.headline[:width], styles.on_base("thinking") + cursor)
        return [StyledLine(line.segments, gutter=2, fill=styles.base + cursor)]

    @property
    def headline(self) -> str:
        mark = "▸" if self.folded else "▾"
        if self.source.startswith(HOSTED_SEARCH):
            first = escape_controls(self.source.partition("\n")[0])
            return f"{mark} {first if self.folded else HOSTED_SEARCH}"
        return f"{mark} Thought" if self.duration is None else f"{mark} Thought for {max(1, round(self.duration))}s"
