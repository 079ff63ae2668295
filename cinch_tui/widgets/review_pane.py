"""Diff pane for accepting and rejecting hunks."""

from __future__ import annotations

from dataclasses import replace
from typing import ClassVar

from textual.binding import BindingType
from textual.message import Message

from cinch_tui.keybindings.keymap import bindings
from cinch_tui.rendering.diff import DiffLayout, Shape
from cinch_tui.rendering.review import Review
from cinch_tui.rendering.side_by_side import SideBySide
from cinch_tui.widgets.diff_view import ViewPane
from harness.views import View

ABOVE = 2
"""Lines kept visible above the current hunk."""


class ReviewPane(ViewPane):
    """While focused, its keys act on the hunks."""

    BINDINGS: ClassVar[list[BindingType]] = [*bindings("review")]

    class Entered(Message):
        """The pane was focused."""

    class Left(Message):
        """The pane lost the focus."""

    class Changed(Message):
        """A hunk was accepted or rejected."""

    class Explain(Message):
        """Ask for a reason for rejecting the current hunk."""

    class Finished(Message):
        """The review is complete or was ended."""

    def __init__(self, view: View, review: Review, *, id: str | None = None) -> None:  # noqa: A002 - Textual's own name for it
        super().__init__(view, shape=Shape(review=review), id=id)
        self._review = review

    def review(self, view: View, review: Review) -> None:
        """Show a view with its review state."""
        review.is_on = self.has_focus
        self._review = review
        self._shape = replace(self._shape, review=review)
        self.show(view)

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        needs_hunks = action in {"flip", "decide", "explain", "all", "none"}
        return (self._review.count > 0 or not needs_hunks) and super().check_action(action, parameters)

    def on_focus(self) -> None:
        self._review.is_on = True
        self._show()
        self.post_message(self.Entered())

    def on_blur(self) -> None:
        self._review.is_on = False
        self.redraw()
        self.post_message(self.Left())

    def action_go(self, by: int) -> None:
        self._review.go(by)
        self._show()

    def action_flip(self) -> None:
        self._review.toggle()
        self._changed()

    def action_decide(self, take: bool) -> None:  # noqa: FBT001 - what a binding passes has no name
        if take:
            self._review.accept()
        else:
            self._review.refuse()
        is_last = self._review.at == self._review.count - 1
        self._review.go(1)
        self._changed()
        if is_last:
            self.post_message(self.Finished())

    def action_explain(self) -> None:
        self._review.refuse()
        self._changed()
        self.post_message(self.Explain())

    def action_all(self) -> None:
        self._review.accept_all()
        self._changed()

    def action_none(self) -> None:
        self._review.refuse_all()
        self._changed()

    def action_finish(self) -> None:
        self.post_message(self.Finished())

    def _changed(self) -> None:
        self._show()
        self.post_message(self.Changed())

    def _show(self) -> None:
        """Redraw, with the current hunk visible."""
        self.redraw()
        lines = self.lines
        if isinstance(lines, DiffLayout | SideBySide):
            top = lines.top_of(self._review.at)
            if not self.scroll_offset.y <= top < self.scroll_offset.y + max(1, self.size.height - ABOVE):
                self.scroll_to(y=max(0, top - ABOVE), animate=False, force=True)
