"""Views: display data of tool results. Front ends decide how to render them."""

from __future__ import annotations

from typing import Literal, TypeAlias

from harness.structs import Tagged


class TextView(Tagged, frozen=True):
    """Plain text."""

    text: str
    """The text."""
    language: str = ""
    """Name of a lexer, such as `python`, if the text is code."""
    editable: str = ""
    """Part of the text that the user may revise before allowing the call, such as the message of a commit."""


class DiffView(Tagged, frozen=True):
    """Change of a file."""

    path: str
    """Path of the file."""
    old: str | None = None
    """Text before; None for a new file."""
    new: str | None = None
    """Text after; None for a deleted file."""
    notes: str = ""
    """Notes on the change, such as what a formatter changed further, on lines of their own."""
    problems: str = ""
    """Problems after the change, such as new errors in the file, on lines of their own."""


class TerminalView(Tagged, frozen=True):
    """Command and its output."""

    command: str
    """The command."""
    output: str
    """Output that was kept."""
    exit_code: int | None = None
    """Exit code; None while the command runs or if it was killed."""
    note: str | None = None
    """Note on a command that was killed or continues, such as "interrupted after 3.0 s"."""
    left_out: int | None = None
    """Number of characters missing from a long output; while the command runs, from its start."""
    job_id: str | None = None
    """Background job that the command continues as."""


class ListingView(Tagged, frozen=True):
    """List of paths or matches."""

    title: str
    """Heading."""
    entries: tuple[str, ...]
    """One entry per item; may be truncated."""
    total: int
    """Number of items before truncation."""


class TodoItem(Tagged, frozen=True):
    content: str
    status: Literal["pending", "in_progress", "completed"]


class TodoView(Tagged, frozen=True):
    items: tuple[TodoItem, ...]


class ImageView(Tagged, frozen=True):
    """Image file."""

    path: str
    """Path it was read from."""
    media_type: str
    """Media type, such as `image/png`."""
    width: int = 0
    """Width in pixels; 0 = unknown."""
    height: int = 0
    """Height in pixels; 0 = unknown."""


View: TypeAlias = TextView | DiffView | TerminalView | ListingView | TodoView | ImageView
