"""Observers of a workspace, called just before files change, or with what they contained."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path


class Observers:
    """Observers of changes. If one raises, nothing is changed."""

    def __init__(self) -> None:
        self._changes: list[Callable[[Path], None]] = []
        self._moves: list[Callable[[Path, Path], None]] = []
        self._past_changes: list[Callable[[Path, bytes], None]] = []

    def on_change(self, observer: Callable[[Path], None]) -> None:
        """Call `observer` with each resolved path just before it changes."""
        self._changes.append(observer)

    def on_move(self, observer: Callable[[Path, Path], None]) -> None:
        """Call `observer` with each path just before its content moves elsewhere, and the new path."""
        self._moves.append(observer)

    def on_past_change(self, observer: Callable[[Path, bytes], None]) -> None:
        """Call `observer` with each path that a program was found to have changed, and its content before."""
        self._past_changes.append(observer)

    def changing(self, path: Path) -> None:
        """Announce that a resolved path is about to change."""
        for observer in self._changes:
            observer(path)

    def moving(self, path: Path, now_at: Path) -> None:
        """Announce that the content of a resolved path is about to move."""
        for observer in self._moves:
            observer(path, now_at)

    def changed(self, path: Path, before: bytes) -> None:
        """Announce that a program has changed a resolved path, which contained `before`."""
        for observer in self._past_changes:
            observer(path, before)
