"""Base classes of transcript blocks: text and its drawing in parts, without a widget."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal, TypeAlias

from cinch_tui.rendering.safe_text import plain_output
from cinch_tui.transcript.heights import Heights
from cinch_tui.transcript.lines import BLANK, Line, wrap_runs

if TYPE_CHECKING:
    from cinch_tui.transcript.image import Picture
    from cinch_tui.transcript.styles import BlockStyles

UNDRAWN = "This block could not be displayed because of a bug in cinch; see the log for details."

logger = logging.getLogger(__name__)


class Part:
    """Lines that are drawn together when first visible, and cached."""

    __slots__ = ("_drawn_for", "_lines")

    def __init__(self) -> None:
        self._lines: list[Line] = []
        self._drawn_for: tuple[BlockStyles, int] | None = None

    @property
    def text(self) -> str:
        """Return the text, used to locate search matches before the part is drawn."""
        return ""

    def lines(self, look: BlockStyles, width: int) -> Sequence[Line]:
        wanted = (look, width)
        if self._drawn_for != wanted:
            self._lines = self._drawn(look, width)
            self._drawn_for = wanted
        return self._lines

    def _drawn(self, look: BlockStyles, width: int) -> list[Line]:
        try:
            return self.draw(look, width)
        except Exception as error:  # noqa: BLE001 a drawing error must not break the conversation
            return undrawn(self.text, look, width, error)

    def is_drawn(self, look: BlockStyles, width: int) -> bool:
        return self._drawn_for == (look, width)

    def forget(self) -> None:
        """Free the cached lines; they can be drawn again."""
        self._lines = []
        self._drawn_for = None

    def draw(self, look: BlockStyles, width: int) -> list[Line]:
        raise NotImplementedError

    def guess(self, width: int) -> int:
        """Estimate the number of lines at almost no cost."""
        raise NotImplementedError


class Plain(Part):
    """Fallback part for a block whose parts could not be created."""

    __slots__ = ("_error", "_text")

    def __init__(self, text: str, error: Exception) -> None:
        super().__init__()
        self._text = text
        self._error = error

    @property
    def text(self) -> str:
        return self._text

    def draw(self, look: BlockStyles, width: int) -> list[Line]:
        return undrawn(self._text, look, width, self._error)

    def guess(self, width: int) -> int:
        return 1 + guess_height(self._text, width)


def undrawn(text: str, look: BlockStyles, width: int, error: Exception) -> list[Line]:
    """Log the error and return the text unformatted, with an error message."""
    logger.error("cannot draw a part of the transcript", exc_info=error)
    told = (UNDRAWN, look.on_base("error"))
    return wrap_runs([told, (f"\n{plain_output(text)}", look.base)] if text else [told], width)


class Gap(Part):
    """Blank line before a block."""

    __slots__ = ()

    def draw(self, look: BlockStyles, width: int) -> list[Line]:
        return [BLANK]

    def guess(self, width: int) -> int:
        return 1


def guess_height(text: str, width: int) -> int:
    return 1 + text.count("\n") + len(text) // max(1, width)


Channel: TypeAlias = Literal["", "thinking", "reminder"]
"""Category of a block outside the conversation proper: thinking, or a system reminder."""


class Block:
    """One item of the transcript: a message, a tool call, a notice.

    Its parts are created when the block first becomes visible. The layout assigns it a `serial` that never changes, so
    that a line keeps its key whatever changes above it, and an `index`.
    """

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
        self.parts: list[Part] = []
        self.heights = Heights()
        self._opened_for = -1

    @property
    def source(self) -> str:
        """Return the original text."""
        raise NotImplementedError

    @property
    def searched(self) -> str:
        """Return the text to search: all parts of the unfolded block."""
        return self.source

    @property
    def pictures(self) -> Sequence[Picture]:
        """Return the images of the block."""
        return ()

    @property
    def foldable(self) -> bool:
        """Return True if the block can be collapsed."""
        return False

    @property
    def folded(self) -> bool:
        return False

    @folded.setter
    def folded(self, folded: bool) -> None:
        raise NotImplementedError

    @property
    def close_to_its_like(self) -> bool:
        """Return True if no blank line separates two blocks of this kind."""
        return False

    @property
    def growing(self) -> bool:
        """Return True while more text is arriving."""
        return False

    @property
    def is_streaming(self) -> bool:
        """Return True while a reply is being streamed into the block."""
        return False

    def guess(self, width: int) -> int:
        """Estimate the height without creating parts."""
        if self._opened_for == width:
            return self.heights.total
        return 0 if self.hidden else self.gap + guess_height(self.source, width)

    def open(self, look: BlockStyles, width: int) -> None:
        """Create the parts and their heights for `width`."""
        if self._opened_for != width:
            self._opened_for = width
            self._rebuild(look, width)

    def advance(self, look: BlockStyles, width: int) -> bool:
        """Update the parts; return True if more remains for the next call."""
        self.redraw()
        self.open(look, width)
        return False

    def redraw(self) -> None:
        """Recreate the parts when the block is next visible."""
        self._opened_for = -1
        self.parts = []

    def measured(self, index: int, height: int) -> None:
        self.heights[index] = height

    def make_parts(self) -> list[Part]:
        raise NotImplementedError

    def _rebuild(self, look: BlockStyles, width: int) -> None:
        if not self.parts:
            made = [] if self.hidden else self._made_parts()
            self.parts = [Gap(), *made] if made and self.gap else made
        self.heights = Heights(self._height(part, look, width) for part in self.parts)

    def _made_parts(self) -> list[Part]:
        try:
            return self.make_parts()
        except Exception as error:  # noqa: BLE001 as in `Part`
            return [Plain(self.source, error)]

    def _height(self, part: Part, look: BlockStyles, width: int) -> int:
        return len(part.lines(look, width)) if part.is_drawn(look, width) else part.guess(width)
