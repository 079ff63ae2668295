"""Scrollable panes for a view: diffs, commands, code and text; hunks can be accepted and rejected."""

from __future__ import annotations

from typing import ClassVar

from msgspec.structs import replace
from rich.segment import Segment
from textual.geometry import Size
from textual.message import Message
from textual.scroll_view import ScrollView
from textual.strip import Strip

from cinch_tui.keybindings.keymap import bindings
from cinch_tui.rendering.code import CodeLayout, Lines, lexer_for_language
from cinch_tui.rendering.diff import ALL_LINES, DEFAULT_OPTIONS, DiffLayout, DiffOptions, diff_layout
from cinch_tui.rendering.review import Review
from cinch_tui.rendering.styles import DIFF_CLASSES, code_styles, diff_styles
from cinch_tui.transcript.lines import text_runs
from harness.views import DiffView, ImageView, ListingView, TerminalView, TextView, TodoView, View

_MARKS = {"pending": " ", "in_progress": "~", "completed": "x"}
ABOVE = 2
"""Lines kept visible above the current hunk."""


class ViewPane(ScrollView, can_focus=True):
    """Draws only visible lines, so its cost does not depend on the length of the view."""

    COMPONENT_CLASSES: ClassVar[set[str]] = set(DIFF_CLASSES)
    BINDINGS = bindings("view")

    def __init__(self, view: View, *, shape: DiffOptions = DEFAULT_OPTIONS, id: str | None = None) -> None:  # noqa: A002 - Textual's own name for it
        super().__init__(id=id)
        self._view = view
        self._shape = shape
        self._lines: Lines | None = None
        self._laid_out_for = 0
        self._strips: dict[int, Strip] = {}

    class Moved(Message):
        """The visible lines changed."""

    def lines_below(self, most_rows: int) -> int | None:
        """Return the number of lines below the visible ones, at most `most_rows`; None before the first layout."""
        if not self.size.height:
            return None
        return max(0, len(self.lines) - self.scroll_offset.y - min(most_rows, self.size.height))

    @property
    def lines(self) -> Lines:
        """Return the layout for the current width."""
        return self._lay_out(self.scrollable_content_region.width)

    def show(self, view: View) -> None:
        """Show a view from its start."""
        self._view = view
        self._lay_out_anew()
        self.scroll_home(animate=False, force=True)

    def toggle_split(self) -> None:
        """Toggle between a side-by-side and a unified diff."""
        if isinstance(self._view, DiffView):
            width = self.scrollable_content_region.width
            is_split = self._shape.is_split(self._view, width, diff_styles(self).split_from)
            self._shape = replace(self._shape, split=not is_split)
            self._lay_out_anew()

    def toggle_fold(self) -> None:
        """Toggle the unchanged lines of a diff, keeping the line at the top."""
        before, top = self.lines, self.scroll_offset.y
        anchor = before.anchor(top) if isinstance(before, DiffLayout) else None
        self._shape = replace(
            self._shape, context=DEFAULT_OPTIONS.context if self._shape.context == ALL_LINES else ALL_LINES
        )
        self._lay_out_anew()
        after = self.lines
        if anchor is not None and isinstance(after, DiffLayout):
            row = after.row_of(anchor) - (anchor.row - top)
            self.scroll_to(y=max(0, row), animate=False, force=True)

    def redraw(self) -> None:
        """Redraw the same lines with changed highlights."""
        self._strips.clear()
        self.refresh()

    def get_content_height(self, container: Size, viewport: Size, width: int) -> int:
        return len(self._lay_out(width))

    def on_resize(self) -> None:
        width = self.scrollable_content_region.width
        self.virtual_size = Size(width, len(self._lay_out(width)))
        self.post_message(self.Moved())

    def watch_scroll_y(self, old_value: float, new_value: float) -> None:
        super().watch_scroll_y(old_value, new_value)
        self.post_message(self.Moved())

    def notify_style_update(self) -> None:
        super().notify_style_update()
        self._laid_out_for = 0

    def render_line(self, y: int) -> Strip:
        width = self.scrollable_content_region.width
        lines = self._lay_out(width)
        y += self.scroll_offset.y
        if y >= len(lines):
            return Strip.blank(width, self.rich_style)
        if y not in self._strips:
            runs = text_runs(lines.line(y), self.rich_style)
            segments = [Segment(text, style) for text, style in runs]
            self._strips[y] = Strip(segments).crop_extend(0, width, self.rich_style)
        return self._strips[y]

    def _lay_out(self, width: int) -> Lines:
        if self._lines is None or self._laid_out_for != width:
            self._lines = self._layout(width)
            self._laid_out_for = width
            self._strips.clear()
        return self._lines

    def _lay_out_anew(self) -> None:
        self._laid_out_for = 0
        self.on_resize()
        self.refresh(layout=True)

    def _layout(self, width: int) -> Lines:
        if isinstance(self._view, DiffView):
            return diff_layout(self._view, width, diff_styles(self), self._shape)
        text, language = as_text(self._view)
        return CodeLayout(text, width, lexer_for_language(language), code_styles(self))


def as_text(view: TextView | TerminalView | ListingView | TodoView | ImageView) -> tuple[str, str]:
    """Return a view as text and its language for highlighting."""
    match view:
        case TextView(text, language):
            return text, language
        case TerminalView(command, output):
            return (f"{command}\n\n{output}" if output else command), "bash"
        case ListingView(title, entries, total):
            rest = [f"… {total - len(entries)} more"] if total > len(entries) else []
            return "\n".join([title, *entries, *rest]), ""
        case TodoView(items):
            return "\n".join(f"[{_MARKS[item.status]}] {item.content}" for item in items), ""
        case ImageView(path, media_type, width, height):
            size = f" · {width} × {height}" if width and height else ""
            return f"{path} · {media_type}{size}", ""


class ReviewPane(ViewPane):
    """While focused, its keys act on the hunks."""

    BINDINGS = bindings("review")

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
        super().__init__(view, shape=DiffOptions(review=review), id=id)
        self._review = review

    def review(self, view: View, review: Review) -> None:
        """Show a view with its review state."""
        review.is_active = self.has_focus
        self._review = review
        self._shape = replace(self._shape, review=review)
        self.show(view)

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        needs_hunks = action in {"flip", "decide", "explain", "all", "none"}
        return (self._review.count > 0 or not needs_hunks) and super().check_action(action, parameters)

    def on_focus(self) -> None:
        self._review.is_active = True
        self._show()
        self.post_message(self.Entered())

    def on_blur(self) -> None:
        self._review.is_active = False
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
            self._review.reject()
        is_last = self._review.current == self._review.count - 1
        self._review.go(1)
        self._changed()
        if is_last:
            self.post_message(self.Finished())

    def action_explain(self) -> None:
        self._review.reject()
        self._changed()
        self.post_message(self.Explain())

    def action_all(self) -> None:
        self._review.accept_all()
        self._changed()

    def action_none(self) -> None:
        self._review.reject_all()
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
        if isinstance(lines, DiffLayout):
            top = lines.top_of(self._review.current)
            if not self.scroll_offset.y <= top < self.scroll_offset.y + max(1, self.size.height - ABOVE):
                self.scroll_to(y=max(0, top - ABOVE), animate=False, force=True)
