"""State of a tool call, as its block, its lines and its text show it."""

from __future__ import annotations

from typing import Literal, TypeAlias

from harness.views import TerminalView, View

ToolStatus: TypeAlias = Literal["waiting", "running", "done", "failed", "denied"]

FRESH_LINES = 8
"""Lines of output that the most recent call shows while it is unfolded by default."""


class ToolCallState:
    """A tool call, its progress and its result."""

    def __init__(self, label: str, summary: str) -> None:
        self.label = label
        """Display name of the tool."""
        self.summary = summary
        """Arguments in one line."""
        self.status: ToolStatus = "waiting"
        self._view: View | None = None
        self._text = ""
        self.duration: float | None = None
        """Seconds; None until the call has finished."""
        self.is_markdown = False
        """True if the text of the view is Markdown to render, not the source of a file."""

    @property
    def view(self) -> View | None:
        """View of the result; partial while the call runs."""
        return self._view

    @view.setter
    def view(self, view: View | None) -> None:
        self._view = view

    @property
    def text(self) -> str:
        """Text of the result, shown when there is no view and for errors."""
        return self._text

    @text.setter
    def text(self, text: str) -> None:
        self._text = text

    @property
    def outcome(self) -> ToolStatus:
        """Status to display: a command with a nonzero exit code counts as failed, although the call succeeded."""
        failed = self.status == "done" and isinstance(self.view, TerminalView) and self.view.exit_code
        return "failed" if failed else self.status
