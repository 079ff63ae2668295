"""The ground of all blocks: an object that knows its text and how to draw it in parts, and no widget."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal, TypeAlias

from cinch_tui.transcript.heights import Heights
from cinch_tui.transcript.lines import BLANK, Line, wrap_runs
from cinch_tui.transcript.plain import printed

if TYPE_CHECKING:
    from cinch_tui.transcript.picture import Picture
    from cinch_tui.transcript.styles import BlockStyles

UNDRAWN = "This could not be shown as it should be, which is a fault of cinch; the log says more."

logger = logging.getLogger(__name__)


class Part:
    """A stretch of lines that is drawn whole, when it is first seen, and kept."""

    __slots__ = ("_drawn_for", "_lines")

    def __init__(self) -> None:
        self._lines: list[Line] = []
        self._drawn_for: tuple[BlockStyles, int] | None = None

    @property
    def text(self) -> str:
        """What it says, before it is drawn: where a search finds something in it."""
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
        except Exception as error:  # noqa: BLE001 the conversation is worth more than how a piece of it looks
            return undrawn(self.text, look, width, error)

    def is_drawn(self, look: BlockStyles, width: int) -> bool:
        return self._drawn_for == (look, width)

    def forget(self) -> None:
        """Give the lines' memory back; they can be drawn again."""
        self._lines = []
        self._drawn_for = None

    def draw(self, look: BlockStyles, width: int) -> list[Line]:
        raise NotImplementedError

    def guess(self, width: int) -> int:
        """About how many lines there will be, at next to no cost."""
        raise NotImplementedError


class Plain(Part):
    """A text whose parts could not be made."""

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
    """What is shown, and noted, of a text that could not be drawn."""
    logger.error("a part of the conversation cannot be drawn", exc_info=error)
    told = (UNDRAWN, look.on_base("error"))
    return wrap_runs([told, (f"\n{printed(text)}", look.base)] if text else [told], width)


class Gap(Part):
    """The blank line before a block."""

    __slots__ = ()

    def draw(self, look: BlockStyles, width: int) -> list[Line]:
        return [BLANK]

    def guess(self, width: int) -> int:
        return 1


def guess_height(text: str, width: int) -> int:
    return 1 + text.count("\n") + len(text) // max(1, width)


Channel: TypeAlias = Literal["", "thinking", "reminder"]
"""Beside what was said: what a model thought, and what it was told without the person."""


class Block:
    """One thing said or done.

    Its picture is a list of parts, made when the block first comes into view. The layout that holds the block gives it
    a `serial` that never changes, so that a line has a name that survives whatever happens above it, and an `index`.
    """

    def __init__(self) -> None:
        self.serial = -1
        self.index = -1
        self.gap = True
        self.selected = False
        self.channel: Channel = ""
        self.hidden = False
        """It has no lines, as long as nobody wants to see its channel."""
        self.time: float | None = None
        """When it was said, in seconds since the epoch; 0 where nobody knows."""
        self.tag = ""
        """A word on what it is, which stands beside it."""
        self.parts: list[Part] = []
        self.heights = Heights()
        self._opened_for = -1

    @property
    def source(self) -> str:
        """What was said, as it was said."""
        raise NotImplementedError

    @property
    def searched(self) -> str:
        """What a search looks through: the texts of all parts that it has when it is unfolded."""
        return self.source

    @property
    def pictures(self) -> Sequence[Picture]:
        """What it shows besides words."""
        return ()

    @property
    def foldable(self) -> bool:
        """It can be shown as one line."""
        return False

    @property
    def folded(self) -> bool:
        return False

    @folded.setter
    def folded(self, folded: bool) -> None:
        raise NotImplementedError

    @property
    def close_to_its_like(self) -> bool:
        """No blank line is wanted between two of this kind."""
        return False

    @property
    def growing(self) -> bool:
        """More of it is still arriving."""
        return False

    @property
    def is_streaming(self) -> bool:
        """Its text is being written at this moment."""
        return False

    def guess(self, width: int) -> int:
        """About how tall the block is, without making its parts."""
        if self._opened_for == width:
            return self.heights.total
        return 0 if self.hidden else self.gap + guess_height(self.source, width)

    def open(self, look: BlockStyles, width: int) -> None:
        """Make the parts and what is known of their heights fit the block and `width`."""
        if self._opened_for != width:
            self._opened_for = width
            self._rebuild(look, width)

    def advance(self, look: BlockStyles, width: int) -> bool:
        """Take in what was said since; true when there is more than fits one go."""
        self.redraw()
        self.open(look, width)
        return False

    def redraw(self) -> None:
        """Make the parts anew when they are next looked at."""
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
        except Exception as error:  # noqa: BLE001 as above
            return [Plain(self.source, error)]

    def _height(self, part: Part, look: BlockStyles, width: int) -> int:
        return len(part.lines(look, width)) if part.is_drawn(look, width) else part.guess(width)
