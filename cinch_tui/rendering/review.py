"""Review state: accepted and rejected hunks of a change."""

from __future__ import annotations

from msgspec import Struct

from harness.terminal_text import escape_controls


class Review(Struct):
    """Decisions of the user on each hunk."""

    count: int
    at: int = 0
    """Number of the current hunk."""
    is_on: bool = False
    """Review mode is active: keys act on the current hunk."""
    refused: dict[int, str] = {}
    """Rejected hunks with their reasons."""

    @property
    def taken(self) -> int:
        return self.count - len(self.refused)

    def go(self, by: int) -> None:
        """Move by a number of hunks, within the first and the last."""
        self.at = max(min(self.at + by, self.count - 1), 0)

    def accept(self) -> None:
        self.refused.pop(self.at, None)

    def refuse(self, reason: str = "") -> None:
        self.refused[self.at] = reason or self.refused.get(self.at, "")

    def toggle(self) -> None:
        if self.at in self.refused:
            self.accept()
        else:
            self.refuse()

    def accept_all(self) -> None:
        self.refused.clear()

    def refuse_all(self) -> None:
        self.refused = {number: self.refused.get(number, "") for number in range(self.count)}

    def head(self, number: int) -> str:
        """Return the header of a hunk: an accepted or skipped mark that needs no color, its number, and the reason."""
        cursor = "▶" if self.is_on and number == self.at else " "
        if number not in self.refused:
            return f"{cursor}[x] change {number + 1} of {self.count}"
        reason = " ".join(escape_controls(self.refused[number]).split())
        return f"{cursor}[ ] change {number + 1} of {self.count}, skipped{f': {reason}' if reason else ''}"
