"""Base classes of transcript blocks: text and its drawing in parts, without a widget."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from functools import partial
from typing import Literal, TypeAlias

from cinch_tui.rendering.safe_text import plain_output
from cinch_tui.transcript.heights import Heights
from cinch_tui.transcript.image import TranscriptImage
from cinch_tui.transcript.lines import BLANK, StyledLine, wrap_runs
from cinch_tui.transcript.markdown_splitter import parser
from cinch_tui.transcript.styles import BlockStyles

UNDRAWN = "This block could not be displayed because of a bug in cinch; see the log for details."

logger = logging.getLogger(__name__)


class BlockPart:
    """Lines that are drawn together when first visible, and cached."""

    __slots__ = ("_drawn_for", "_lines")

    def __init__(self) -> None:
        self._lines: list[StyledLine] = []
        self._drawn_for: tuple[BlockStyles, int] | None = None

    @property
    def text(self) -> str:
        """Return the text, used to locate search matches before the part is drawn."""
        return ""

    def lines(self, styles: BlockStyles, width: int) -> Sequence[StyledLine]:
        wanted = (styles, width)
        if self._drawn_for != wanted:
            self._lines = self._drawn(styles, width)
            self._drawn_for = wanted
        return self._lines

    def _drawn(self, styles: BlockStyles, width: int) -> list[StyledLine]:
        try:
            return self.draw(styles, width)
        except Exception as error:  # noqa: BLE001 a drawing error must not break the conversation
            return log_drawing_error(self.text, error, styles, width)

    def is_drawn(self, styles: BlockStyles, width: int) -> bool:
        return self._drawn_for == (styles, width)

    def forget(self) -> None:
        """Free the cached lines; they can be drawn again."""
        self._lines = []
        self._drawn_for = None

    def draw(self, styles: BlockStyles, width: int) -> list[StyledLine]:
        raise NotImplementedError

    def guess(self, width: int) -> int:
        """Estimate the number of lines at almost no cost."""
        raise NotImplementedError


class FunctionPart(BlockPart):
    """Part that is drawn by a function, usually a method of its block.

    Args:
        draw: returns the lines for a width.
        guess: estimates their number; one line by default.
        text: returns the text; empty by default.
    """

    __slots__ = ("_draw", "_guess", "_text")

    def __init__(
        self,
        draw: Callable[[BlockStyles, int], list[StyledLine]],
        guess: Callable[[int], int] = lambda _: 1,
        text: Callable[[], str] = str,
    ) -> None:
        super().__init__()
        self._draw = draw
        self._guess = guess
        self._text = text

    @property
    def text(self) -> str:
        return self._text()

    def draw(self, styles: BlockStyles, width: int) -> list[StyledLine]:
        return self._draw(styles, width)

    def guess(self, width: int) -> int:
        return self._guess(width)


def log_drawing_error(text: str, error: Exception, styles: BlockStyles, width: int) -> list[StyledLine]:
    """Log the error and return the text unformatted, with an error message."""
    logger.error("cannot draw a part of the transcript", exc_info=error)
    message = (UNDRAWN, styles.on_base("error"))
    return wrap_runs([message, (f"\n{plain_output(text)}", styles.base)] if text else [message], width)


class Gap(BlockPart):
    """Blank line before a block."""

    __slots__ = ()

    def draw(self, styles: BlockStyles, width: int) -> list[StyledLine]:
        return [BLANK]

    def guess(self, width: int) -> int:
        return 1


def guess_height(text: str, width: int) -> int:
    return 1 + text.count("\n") + len(text) // max(1, width)


_NO_HEIGHTS = Heights()
"""Shared by all blocks that were never visible, of which a long session has thousands."""

Channel: TypeAlias = Literal["", "thinking", "reminder"]
"""Category of a block outside the conversation proper: thinking, or a system reminder."""


class TranscriptBlock:
    """One item of the transcript: a message, a tool call, a notice.

    Its parts are created when the block first becomes visible. The layout assigns it a `serial` that never changes, so
    that a line keeps its key whatever changes above it, and an `index`.
    """

    message_id = ""
    """Id of the message in the session; empty if it is not resumed."""

    def __init__(self) -> None:
        self.serial = -1
        self.index = -1
        self.gap = True
        self.selected = False
        self.channel: Channel = ""
        self.hidden = False
        """The block has no lines while its channel is hidden."""
        self.time: float | None = None
        """Time of the message in seconds since the epoch; 0 if unknown."""
        self.tag = ""
        """Short label shown next to the block."""
        self.images: Sequence[TranscriptImage] = ()
        self.parts: list[BlockPart] = []
        self.heights = _NO_HEIGHTS
        self._open_width = -1
        self._folded = False

    @property
    def source(self) -> str:
        """Return the original text."""
        raise NotImplementedError

    @property
    def code(self) -> list[str]:
        """Return the code blocks of the source in order."""
        tokens = parser().parse(self.source)
        return [token.content.removesuffix("\n") for token in tokens if token.type in ("fence", "code_block")]

    @property
    def search_text(self) -> str:
        """Return the text to search: all parts of the unfolded block."""
        return self.source

    @property
    def foldable(self) -> bool:
        """Return True if the block can be collapsed."""
        return False

    @property
    def folded(self) -> bool:
        return self._folded

    @folded.setter
    def folded(self, folded: bool) -> None:
        self._folded = folded

    @property
    def is_grouped(self) -> bool:
        """Return True if no blank line separates two blocks of this kind."""
        return False

    @property
    def growing(self) -> bool:
        """Return True while more text is arriving."""
        return False

    def guess(self, width: int) -> int:
        """Estimate the height without creating parts."""
        if self._open_width == width:
            return self.heights.total
        return 0 if self.hidden else self.gap + guess_height(self.source, width)

    def open(self, styles: BlockStyles, width: int) -> None:
        """Create the parts and their heights for `width`."""
        if self._open_width != width:
            self._open_width = width
            self._rebuild(styles, width)

    def advance(self, styles: BlockStyles, width: int) -> bool:
        """Update the parts; return True if more remains for the next call."""
        self.invalidate()
        self.open(styles, width)
        return False

    def invalidate(self) -> None:
        """Recreate the parts when the block is next visible."""
        self._open_width = -1
        self.parts = []

    def make_parts(self) -> list[BlockPart]:
        raise NotImplementedError

    def _rebuild(self, styles: BlockStyles, width: int) -> None:
        if not self.parts:
            made = [] if self.hidden else self._made_parts()
            self.parts = [Gap(), *made] if made and self.gap else made
        self.heights = Heights(self._height(part, styles, width) for part in self.parts)

    def _made_parts(self) -> list[BlockPart]:
        try:
            return self.make_parts()
        except Exception as error:  # noqa: BLE001 as in `Part`
            draw = partial(log_drawing_error, self.source, error)
            return [FunctionPart(draw, lambda width: 1 + guess_height(self.source, width), lambda: self.source)]

    def _height(self, part: BlockPart, styles: BlockStyles, width: int) -> int:
        return len(part.lines(styles, width)) if part.is_drawn(styles, width) else part.guess(width)
