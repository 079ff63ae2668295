"""What was sent before from this project, and the walk through it with Up and Down."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

MAX_WRITTEN_CHARACTERS = 20_000


class PromptHistory:
    """Entries from oldest to newest. Nothing is read before the first use.

    What is changed while walking is kept until the next prompt is sent, the unsent draft too. Lines that hold an API
    key are never kept. A file that cannot be read or written costs the memory of it, nothing else.
    """

    def __init__(self, path: Path | None = None) -> None:
        self._path = path
        self._loaded: list[str] | None = None
        self._edits: dict[int, str] = {}
        self._position: int | None = None

    def add(self, text: str) -> None:
        """Remember what was sent, and end the walk."""
        # The first paint does not wait for what reads and writes the file.
        from cinch_tui.commands.secrets import take_keys
        from cinch_tui.widgets.prompt.history_file import append_entry

        self._edits.clear()
        self._position = None
        entry = take_keys(text)[0].strip("\n")
        entries = self._entries()
        if not entry.strip() or entries[-1:] == [entry]:
            return
        entries.append(entry)
        if self._path is not None and len(entry) <= MAX_WRITTEN_CHARACTERS:
            append_entry(self._path, entry)

    @property
    def entries(self) -> Sequence[str]:
        return self._entries()

    def go_to(self, index: int, draft: str) -> str:
        """Walk to that entry at once, and keep the draft where Down finds it; the entry."""
        entries = self._entries()
        self._edits = {len(entries): draft}
        self._position = index
        return entries[index]

    def older(self, current: str) -> str | None:
        """The entry before the one shown, whose text is now `current`; None at the oldest."""
        return self._walk(current, -1)

    def newer(self, current: str) -> str | None:
        """The entry after, and after the last the draft; None at the draft."""
        return self._walk(current, +1)

    def _walk(self, current: str, step: int) -> str | None:
        entries = self._entries()
        position = len(entries) if self._position is None else self._position
        target = position + step
        if not 0 <= target <= len(entries):
            return None
        self._edits[position] = current
        self._position = target
        return self._edits.get(target, entries[target] if target < len(entries) else "")

    def _entries(self) -> list[str]:
        if self._loaded is None:
            from cinch_tui.widgets.prompt.history_file import read_entries  # as above

            self._loaded = read_entries(self._path) if self._path is not None else []
        return self._loaded
