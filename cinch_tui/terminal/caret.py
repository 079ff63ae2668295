"""Where the terminal's own cursor stands: where one types, since an input method opens its window there."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol, runtime_checkable

if TYPE_CHECKING:
    from textual.dom import DOMNode
    from textual.geometry import Offset


@runtime_checkable
class Typed(Protocol):
    """A field."""

    @property
    def cursor_screen_offset(self) -> Offset: ...


@runtime_checkable
class OneLine(Protocol):
    """A field of one line."""

    @property
    def cursor_at_end(self) -> bool: ...


def caret_of(focused: DOMNode | None) -> Offset | None:
    """The cell of the caret, from the corner of the screen; None where nobody can type."""
    if not isinstance(focused, Typed):
        return None
    # Behind the last letter, Textual counts one cell too many.
    return focused.cursor_screen_offset - (isinstance(focused, OneLine) and focused.cursor_at_end, 0)
