"""What a tool shows a person. A view is data: the front decides how it looks."""

from __future__ import annotations

from typing import Literal, TypeAlias

from harness.lazy_dataclass import dataclass


@dataclass(frozen=True, slots=True)
class TextView:
    """Plain text; `language` names a lexer (`python`, `json`) when it is code."""

    text: str
    language: str = ""


@dataclass(frozen=True, slots=True)
class DiffView:
    """A file before and after; `old` is None for a new file, `new` is None for a deleted one."""

    path: str
    old: str | None
    new: str | None


@dataclass(frozen=True, slots=True)
class TerminalView:
    """A command and its output, as far as it is kept.

    `exit_code` is None while it runs or when it was killed; `note` then says how it ended: "interrupted after 3.0 s".
    `left_out` counts the characters that a long `output` does not have: the first ones as long as the command runs.
    """

    command: str
    output: str
    exit_code: int | None = None
    note: str | None = None
    left_out: int | None = None


@dataclass(frozen=True, slots=True)
class ListingView:
    """Paths or matches, one an entry; `total` counts them all where `entries` is cut."""

    title: str
    entries: tuple[str, ...]
    total: int


@dataclass(frozen=True, slots=True)
class TodoItem:
    content: str
    status: Literal["pending", "in_progress", "completed"]


@dataclass(frozen=True, slots=True)
class TodoView:
    items: tuple[TodoItem, ...]


@dataclass(frozen=True, slots=True)
class ImageView:
    """A picture by the path it was read from, with its size in pixels where known."""

    path: str
    media_type: str
    width: int = 0
    height: int = 0


View: TypeAlias = TextView | DiffView | TerminalView | ListingView | TodoView | ImageView
