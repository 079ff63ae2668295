"""What was sent before from this project: a file of JSON lines, and the walk through it with Up and Down."""

from __future__ import annotations

import json
import logging
import os
from pathlib import Path
from typing import cast

from cinch_tui.commands.secrets import take_keys
from cinch_tui.private_file import write_private

MAX_ENTRIES = 1000
MAX_WRITTEN_CHARACTERS = 20_000

logger = logging.getLogger(__name__)


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
        self._edits.clear()
        self._position = None
        entry = take_keys(text)[0].strip("\n")
        entries = self._entries()
        if not entry.strip() or entries[-1:] == [entry]:
            return
        entries.append(entry)
        if self._path is not None and len(entry) <= MAX_WRITTEN_CHARACTERS:
            _append(self._path, entry)

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
            self._loaded = _read(self._path) if self._path is not None else []
        return self._loaded


def _read(path: Path) -> list[str]:
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


def _append(path: Path, entry: str) -> None:
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        handle = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
        with open(handle, "a", encoding="utf-8") as file:  # noqa: PTH123  the mode is given with the descriptor
            # A line that a crash left torn must not swallow this one.
            file.write(_encode(entry) if _ends_clean(path) else "\n" + _encode(entry))
    except OSError as error:
        logger.warning("the prompt history cannot be written: %s", error)


def _ends_clean(path: Path) -> bool:
    with path.open("rb") as file:
        if file.seek(0, os.SEEK_END) == 0:
            return True
        file.seek(-1, os.SEEK_END)
        return file.read(1) == b"\n"


def _encode(entry: str) -> str:
    return json.dumps({"text": entry}) + "\n"


def _decode(line: str) -> str:
    """The entry in a line; empty when the line holds none."""
    try:
        record = json.loads(line)
    except ValueError:
        return ""
    # What JSON gives has no type; each step down is checked.
    text = cast("dict[object, object]", record).get("text") if isinstance(record, dict) else None
    return text if isinstance(text, str) else ""
