"""Prompt history file: JSON lines. Read and write errors are only logged."""

from __future__ import annotations

import json
import logging
import os
from collections.abc import Mapping
from dataclasses import field
from pathlib import Path
from typing import cast

from cinch_tui.config.private_file import write_private
from harness.lazy_dataclass import dataclass

MAX_ENTRIES = 5_000


@dataclass(frozen=True, slots=True)
class Entry:
    """A prompt; `pictures` maps image marks in the text to names in the image store."""

    text: str
    pictures: Mapping[str, str] = field(default_factory=dict[str, str])


logger = logging.getLogger(__name__)


def read_entries(path: Path) -> list[Entry]:
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


def append_entry(path: Path, entry: Entry) -> None:
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


def _encode(entry: Entry) -> str:
    record: dict[str, object] = {"text": entry.text}
    if entry.pictures:
        record["pictures"] = dict(entry.pictures)
    return json.dumps(record) + "\n"


def _decode(line: str) -> Entry | None:
    """Return the entry of a line; None if it is invalid."""
    try:
        record = json.loads(line)
    except ValueError:
        return None
    # JSON values are untyped; each level is checked.
    fields = cast("dict[object, object]", record) if isinstance(record, dict) else {}
    text, pictures = fields.get("text"), fields.get("pictures")
    if not isinstance(text, str) or not text:
        return None
    named = cast("dict[object, object]", pictures) if isinstance(pictures, dict) else {}
    return Entry(text, {mark: name for mark, name in named.items() if isinstance(mark, str) and isinstance(name, str)})
