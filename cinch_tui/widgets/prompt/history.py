"""What was sent before from this project, and the walk through it with Up and Down."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from cinch_tui.images.image_store import ImageStore
from cinch_tui.user_input import UserInput, UserInputLike, as_user_input

MAX_WRITTEN_CHARACTERS = 20_000


class PromptHistory:
    """Entries from oldest to newest: those of earlier sessions and of others that run now, then those of this one.
    Nothing is read before the first use.

    What is changed while walking is kept until the next prompt is sent, the unsent draft too. API
    keys are never kept. A file that cannot be read or written costs the memory of it, nothing else. Images come back as
    long as the album has them.
    """

    def __init__(self, path: Path | None = None, album: ImageStore | None = None) -> None:
        self._path = path
        self._album = album
        self._loaded: list[str] = []
        self._own: list[str] = []
        # How long the file was when it was read; -1: not yet.
        self._read_to = -1
        # Of a text that was sent twice, the latest.
        self._pictures: dict[str, Mapping[str, str]] = {}
        self._edits: dict[int, UserInput] = {}
        self._position: int | None = None

    def add(self, said: UserInputLike) -> None:
        """Remember what was sent, and end the walk."""
        # The first paint does not wait for what reads and writes the file.
        from cinch_tui.commands.secrets import without_keys
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
        """Walk to that one of the `entries` that were given last, and keep the draft where Down finds it; the entry."""
        entries = self._loaded
        self._edits = {len(entries): draft}
        self._position = index
        return self._words(entries[index])

    def older(self, current: UserInput) -> UserInput | None:
        """The entry before the one shown, which is now `current`; None at the oldest."""
        return self._walk(current, -1)

    def newer(self, current: UserInput) -> UserInput | None:
        """The entry after, and after the last the draft; None at the draft."""
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

        # While somebody walks through them they stay where they are.
        if self._path is None or self._position is not None or size_of(self._path) == self._read_to:
            return self._loaded
        read = read_entries(self._path)
        self._read_to = size_of(self._path)
        own = set(self._own)
        self._loaded = [*(entry.text for entry in read if entry.text not in own), *self._own]
        self._pictures.update({entry.text: entry.pictures for entry in read})
        return self._loaded
