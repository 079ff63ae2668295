"""Changes of files: what is asked for, what is prepared, and what was done."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import TypeAlias

from msgspec import Struct

from harness.workspace.file_text import FileText
from harness.workspace.transaction import FileWrite


class Change(Struct, frozen=True):
    """A change of a file."""

    path: Path
    """Resolved path."""
    old: str | None
    """Text before, with line feeds; None for a new file."""
    new: str
    """Text after, with line feeds."""
    size: int
    """Size of the new file in bytes."""
    is_removed: bool = False
    """True if the file is removed; `new` is then empty."""


class NewFile(Struct, frozen=True):
    """A file to create."""

    path: str
    text: str


class EditedFile(Struct, frozen=True):
    """A file to change, and to move if `target` is given."""

    path: str
    edit: Callable[[FileText], FileText]
    """Returns the result of `FileText.spliced`; an exception propagates, and nothing is changed."""
    target: str = ""
    """New path, which must not exist; empty to keep the path."""


class RemovedFile(Struct, frozen=True):
    """A file to remove."""

    path: str


FileEdit: TypeAlias = NewFile | EditedFile | RemovedFile


class Draft(Struct, frozen=True):
    """A prepared change.

    `before` is the digest of the file it is based on, None for a new file; without `data` the file is removed; `like`
    is the status of the file that a new one is a copy of.
    """

    change: Change
    data: bytes | None
    encoding: str
    before: str | None
    like: os.stat_result | None = None

    @property
    def has_effect(self) -> bool:
        return self.before is None or self.data is None or self.change.old != self.change.new

    @property
    def write(self) -> FileWrite:
        return FileWrite(self.change.path, self.data, self.like)
