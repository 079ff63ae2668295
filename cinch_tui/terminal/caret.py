"""Position of the hardware cursor: input methods open their window there."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol, runtime_checkable

if TYPE_CHECKING:
    from textual.dom import DOMNode
    from textual.geometry import Offset


@runtime_checkable
class Typed(Protocol):
    """A text area."""

    @property
    def cursor_screen_offset(self) -> Offset: ...


@runtime_checkable
class OneLine(Protocol):
    """A single-line input."""

    @property
    def cursor_at_end(self) -> bool: ...


def caret_of(focused: DOMNode | None) -> Offset | None:
    """Return the screen cell of the text cursor; None if the focused widget takes no text."""
    if not isinstance(focused, Typed):
        return None
    # At the end of the text, Textual is off by one cell.
    return focused.cursor_screen_offset - (isinstance(focused, OneLine) and focused.cursor_at_end, 0)
