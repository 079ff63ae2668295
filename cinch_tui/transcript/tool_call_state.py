"""State of a tool call, as its block, its lines and its text show it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, TypeAlias

from msgspec import Struct

from harness.views import TerminalView, View

if TYPE_CHECKING:
    from cinch_tui.transcript.image import Picture

FRESH_LINES = 8
"""Lines of output that the most recent call shows while it is unfolded by default."""

ToolStatus: TypeAlias = Literal["waiting", "running", "done", "failed", "denied"]


class ToolCallState(Struct):
    """A tool call, its progress and its result."""

    label: str
    """Display name of the tool."""
    summary: str
    """Arguments in one line."""
    status: ToolStatus = "waiting"
    view: View | None = None
    """View of the result; partial while the call runs."""
    text: str = ""
    """Text of the result, shown when there is no view and for errors."""
    duration: float | None = None
    """Seconds; None until the call has finished."""
    pictures: tuple[Picture, ...] = ()
    is_markdown: bool = False
    """True if the text of the view is Markdown to render, not the source of a file."""

    @property
    def outcome(self) -> ToolStatus:
        """Status to display: a command with a nonzero exit code counts as failed, although the call succeeded."""
        failed = self.status == "done" and isinstance(self.view, TerminalView) and self.view.exit_code
        return "failed" if failed else self.status
