"""Review state: accepted and rejected hunks of a change."""

from __future__ import annotations

from msgspec import Struct

from harness.terminal_text import escape_controls


class Review(Struct):
    """Decisions of the user on each hunk."""

    count: int
    current: int = 0
    """Number of the current hunk."""
    is_active: bool = False
    """Review mode is active: keys act on the current hunk."""
    rejected: dict[int, str] = {}
    """Rejected hunks with their reasons."""

    @property
    def accepted(self) -> int:
        return self.count - len(self.rejected)

    def go(self, by: int) -> None:
        """Move by a number of hunks, within the first and the last."""
        self.current = max(min(self.current + by, self.count - 1), 0)

    def accept(self) -> None:
        self.rejected.pop(self.current, None)

    def reject(self, reason: str = "") -> None:
        self.rejected[self.current] = reason or self.rejected.get(self.current, "")

    def toggle(self) -> None:
        (self.accept if self.current in self.rejected else self.reject)()

    def accept_all(self) -> None:
        self.rejected.clear()

    def reject_all(self) -> None:
        self.rejected = {number: self.rejected.get(number, "") for number in range(self.count)}

    def head(self, number: int) -> str:
        """Return the header of a hunk: an accepted or skipped mark that needs no color, its number, and the reason."""
        cursor = "▶" if self.is_active and number == self.current else " "
        if number not in self.rejected:
            return f"{cursor}[x] change {number + 1} of {self.count}"
        reason = " ".join(escape_controls(self.rejected[number]).split())
        return f"{cursor}[ ] change {number + 1} of {self.count}, skipped{f': {reason}' if reason else ''}"
