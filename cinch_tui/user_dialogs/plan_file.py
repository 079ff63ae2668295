"""File of a plan under review, which the user may edit in other programs as well."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

from harness.execution.spill import open_spill


class PlanFile:
    """The file, and its text as last read.

    Args:
        path: The file; None if absent.
        text: Its text.
    """

    def __init__(self, path: Path | None, text: str) -> None:
        self.path = path
        self.text = text
        self._state = self._stat()

    def reread(self) -> bool:
        """Read the file if it was changed; return True if its text is another one. A blank file changes nothing."""
        state = self._stat()
        if self.path is None or state in (None, self._state):
            return False
        self._state = state
        with suppress(OSError):
            text = self.path.read_text(encoding="utf-8", errors="replace")
            if text.strip() and text != self.text:
                self.text = text
                return True
        return False

    def write(self, text: str) -> None:
        """Replace the text. If the file cannot be written, the text counts nevertheless."""
        self.text = text
        if self.path is not None:
            with suppress(OSError), open_spill(self.path) as file:
                file.write(text)
            self._state = self._stat()

    def _stat(self) -> tuple[int, int] | None:
        with suppress(OSError):
            found = self.path.stat() if self.path else None
            return (found.st_mtime_ns, found.st_size) if found else None
        return None
