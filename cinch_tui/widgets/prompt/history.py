"""Prompt history of this project."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from cinch_tui.images.image_store import ImageStore
from cinch_tui.user_input import UserInput, UserInputLike, as_user_input

MAX_WRITTEN_CHARACTERS = 20_000


class PromptHistory:
    """Entries from oldest to newest: earlier and parallel sessions, then this session. Loaded at first use.

    Edits of entries and the unsent draft are kept until the next prompt is sent. API keys are never saved. A file error
    only loses the history. Images are restored while the image store has them.
    """

    def __init__(self, path: Path | None = None, album: ImageStore | None = None) -> None:
        self._path = path
        self._album = album
        self._loaded: list[str] = []
        self._own: list[str] = []
        # File size when last read; -1: not read yet.
        self._read_to = -1
        # For a text sent twice, those of the latest.
        self._pictures: dict[str, Mapping[str, str]] = {}
        self._edits: dict[int, UserInput] = {}
        self._position: int | None = None

    def add(self, said: UserInputLike) -> None:
        """Add a sent prompt and reset the position."""
        # Late import: not needed before the first paint.
        from cinch_tui.api_keys.leak_check import without_keys
        from cinch_tui.widgets.prompt.history_file import Entry, append_entry, size_of

        self._edits.clear()
        self._position = None
        words = as_user_input(said)
        text = without_keys(words.text).strip("\n")
        entries = self._entries()
        pictures = self._album.keep_all(words.images) if self._album and words.images else {}
        if not text.strip() or (entries[-1:] == [text] and self._pictures.get(text, {}) == pictures):
            return
        entries.append(text)
        self._own.append(text)
        self._pictures[text] = pictures
        if self._path is not None and len(text) <= MAX_WRITTEN_CHARACTERS:
            append_entry(self._path, Entry(text, pictures))
            self._read_to = size_of(self._path)

    @property
    def entries(self) -> Sequence[str]:
        return self._entries()

    def go_to(self, index: int, draft: UserInput) -> UserInput:
        """Go to an index of the last `entries`; the draft stays reachable with Down. Return the entry."""
        entries = self._loaded
        self._edits = {len(entries): draft}
        self._position = index
        return self._words(entries[index])

    def older(self, current: UserInput) -> UserInput | None:
        """Return the previous entry; None at the oldest. `current` is the edited text of the current one."""
        return self._walk(current, -1)

    def newer(self, current: UserInput) -> UserInput | None:
        """Return the next entry, or the draft after the last; None at the draft."""
        return self._walk(current, +1)

    def _walk(self, current: UserInput, step: int) -> UserInput | None:
        entries = self._entries()
        position = len(entries) if self._position is None else self._position
        target = position + step
        if not 0 <= target <= len(entries):
            return None
        self._edits[position] = current
        self._position = target
        if target in self._edits:
            return self._edits[target]
        return self._words(entries[target]) if target < len(entries) else UserInput("")

    def _words(self, text: str) -> UserInput:
        pictures = self._pictures.get(text)
        return UserInput(text, self._album.find_all(pictures)) if pictures and self._album else UserInput(text)

    def _entries(self) -> list[str]:
        from cinch_tui.widgets.prompt.history_file import read_entries, size_of  # as above

        # Keep the entries stable while the user moves through them.
        if self._path is None or self._position is not None or size_of(self._path) == self._read_to:
            return self._loaded
        read = read_entries(self._path)
        self._read_to = size_of(self._path)
        own = set(self._own)
        self._loaded = [*(entry.text for entry in read if entry.text not in own), *self._own]
        self._pictures.update({entry.text: entry.pictures for entry in read})
        return self._loaded
