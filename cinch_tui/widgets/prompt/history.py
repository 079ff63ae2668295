"""Prompt history of this project: its file, moving through it, and searching it."""

from __future__ import annotations

import json
import logging
import os
from collections.abc import Mapping, Sequence
from itertools import islice
from pathlib import Path

import msgspec
from msgspec import Struct

from cinch_tui.config.paths import write_private
from cinch_tui.images.image_store import ImageStore
from cinch_tui.user_input import UserInput, UserInputLike, as_user_input
from cinch_tui.widgets.prompt.completion import MAX_CANDIDATES, Candidate, Completion, scattered

MAX_ENTRIES = 5_000
MAX_WRITTEN_CHARACTERS = 20_000
FOUND_HINT = ("history", "prompt.submit takes", "prompt.search_history older", "prompt.close_popup back")
NO_MATCH_HINT = ("history: no matches", "prompt.close_popup back")
_MAX_QUERY = 60
_BEFORE_MATCH = 24
_MAX_SHOWN = 400
_MAX_SEARCHED = 2_000

logger = logging.getLogger(__name__)


class HistoryEntry(Struct, frozen=True):
    """A prompt; `pictures` maps image marks in the text to names in the image store."""

    text: str
    pictures: Mapping[str, str] = {}


def read_entries(path: Path) -> list[HistoryEntry]:
    """Return the saved entries, oldest first; at most `MAX_ENTRIES`."""
    try:
        lines = path.read_text(encoding="utf-8", errors="replace").splitlines()
        entries = [entry for line in lines if (entry := _decode(line))]
        if len(entries) > MAX_ENTRIES:
            entries = entries[-MAX_ENTRIES:]
            write_private(path, "".join(map(_encode, entries)))
    except FileNotFoundError:
        return []
    except OSError as error:
        logger.warning("the prompt history cannot be read: %s", error)
        return []
    return entries


def size_of(path: Path) -> int:
    """Return the file size in bytes; 0 if there is no file."""
    try:
        return path.stat().st_size
    except OSError:
        return 0


def append_entry(path: Path, entry: HistoryEntry) -> None:
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        handle = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
        with open(handle, "a", encoding="utf-8") as file:  # noqa: PTH123  the mode is given with the descriptor
            # Do not append to a line truncated by a crash.
            file.write(_encode(entry) if _ends_clean(path) else "\n" + _encode(entry))
    except OSError as error:
        logger.warning("the prompt history cannot be written: %s", error)


def _ends_clean(path: Path) -> bool:
    with path.open("rb") as file:
        if file.seek(0, os.SEEK_END) == 0:
            return True
        file.seek(-1, os.SEEK_END)
        return file.read(1) == b"\n"


def _encode(entry: HistoryEntry) -> str:
    record: dict[str, object] = {"text": entry.text}
    if entry.pictures:
        record["pictures"] = dict(entry.pictures)
    return json.dumps(record) + "\n"


def _decode(line: str) -> HistoryEntry | None:
    """Return the entry of a line; None if it is invalid."""
    try:
        entry = msgspec.json.decode(line, type=HistoryEntry)
    except msgspec.DecodeError:
        return None
    return entry if entry.text else None


class PromptHistory:
    """Entries from oldest to newest: earlier and parallel sessions, then this session. Loaded at first use.

    Edits of entries and the unsent draft are kept until the next prompt is sent. API keys are never saved. A file error
    only loses the history. Images are restored while the image store has them.
    """

    def __init__(self, path: Path | None = None, image_store: ImageStore | None = None) -> None:
        self._path = path
        self._image_store = image_store
        self._loaded: list[str] = []
        self._own: list[str] = []
        # File size when last read; -1: not read yet.
        self._read_to = -1
        # For a text sent twice, those of the latest.
        self._pictures: dict[str, Mapping[str, str]] = {}
        self._edits: dict[int, UserInput] = {}
        self._position: int | None = None

    def add(self, user_input: UserInputLike) -> None:
        """Add a sent prompt and reset the position."""
        # Late import: not needed before the first paint.
        from cinch_tui.api_keys.leak_check import without_keys

        self._edits.clear()
        self._position = None
        user_input = as_user_input(user_input)
        text = without_keys(user_input.text).strip("\n")
        entries = self.entries
        pictures = self._image_store.keep_all(user_input.images) if self._image_store and user_input.images else {}
        if not text.strip() or (entries[-1:] == [text] and self._pictures.get(text, {}) == pictures):
            return
        entries.append(text)
        self._own.append(text)
        self._pictures[text] = pictures
        if self._path is not None and len(text) <= MAX_WRITTEN_CHARACTERS:
            append_entry(self._path, HistoryEntry(text, pictures))
            self._read_to = size_of(self._path)

    def go_to(self, index: int, draft: UserInput) -> UserInput:
        """Go to an index of the last `entries`; the draft stays reachable with Down. Return the entry."""
        entries = self._loaded
        self._edits = {len(entries): draft}
        self._position = index
        return self._input_of(entries[index])

    def walk(self, current: UserInput, step: int) -> UserInput | None:
        """Return the previous (-1) or next (1) entry, or the draft after the last; None at either end.

        `current` is the edited text of the current one.
        """
        entries = self.entries
        position = len(entries) if self._position is None else self._position
        target = position + step
        if not 0 <= target <= len(entries):
            return None
        self._edits[position] = current
        self._position = target
        if target in self._edits:
            return self._edits[target]
        return self._input_of(entries[target]) if target < len(entries) else UserInput("")

    def _input_of(self, text: str) -> UserInput:
        pictures, store = self._pictures.get(text), self._image_store
        return UserInput(text, store.find_all(pictures)) if pictures and store else UserInput(text)

    @property
    def entries(self) -> list[str]:
        """Return the entries, loaded again if another session has added some."""
        # Keep the entries stable while the user moves through them.
        if self._path is None or self._position is not None or size_of(self._path) == self._read_to:
            return self._loaded
        read = read_entries(self._path)
        self._read_to = size_of(self._path)
        own = set(self._own)
        self._loaded = [*(entry.text for entry in read if entry.text not in own), *self._own]
        self._pictures.update({entry.text: entry.pictures for entry in read})
        return self._loaded


class HistorySearch:
    """A search; `draft` is the prompt text, with placeholders, when it began."""

    def __init__(self, entries: Sequence[str], draft: str) -> None:
        self.draft = draft
        self.last_indices = {entry: index for index, entry in enumerate(entries)}
        order = sorted(self.last_indices.items(), key=lambda pair: -pair[1])
        # Casefolded once, not per key; only the start of long texts is searched.
        self._entries = [(entry[:_MAX_SEARCHED].casefold(), entry) for entry, _ in order]

    def find(self, query: str) -> Completion | None:
        """Return entries that contain all words of the query, else those with its letters in order."""
        words = query.casefold().split()
        found = tuple(islice((entry for text, entry in self._entries if _has(words, text)), MAX_CANDIDATES))
        if not found:
            fits = scattered("".join(words))
            found = tuple(islice((entry for text, entry in self._entries if fits(text)), MAX_CANDIDATES))
        candidates = tuple(Candidate(entry, shown=_shown(entry, words)) for entry in found)
        return Completion(0, query, candidates) if candidates else None


def is_query(draft: str) -> bool:
    """Return True if the prompt text may serve as query: one short line."""
    return len(draft) <= _MAX_QUERY and "\n" not in draft


def _has(words: Sequence[str], text: str) -> bool:
    # A generator expression is slower than the search itself.
    for word in words:  # noqa: SIM110
        if word not in text:
            return False
    return True


def _shown(entry: str, words: Sequence[str]) -> str:
    """Return the entry in one line, starting shortly before the first match."""
    line = " ⏎ ".join(part.strip() for part in entry.splitlines())
    place = min((at for word in words if (at := line.casefold().find(word)) >= 0), default=0)
    start = place - _BEFORE_MATCH if place > 2 * _BEFORE_MATCH else 0
    return f"{'…' if start else ''}{line[start : start + _MAX_SHOWN]}"
