"""Summaries of session files in the database, valid as long as size and time of the file are the same."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec
from msgspec.structs import replace

from harness.session.database import session_database, transaction
from harness.session.paths import SessionFile
from harness.session.summary import SessionFacts, SessionSummary, read_summary

if TYPE_CHECKING:
    import sqlite3

_WAIT_S = 0.2

SummaryRow = tuple[str, int, int, bytes]
"""Key of the file, its size, its time in nanoseconds, and the encoded summary."""


class SummaryCache:
    """Summaries of some session files; what the database lacks is read from the files, and saved by `save`.

    Args:
        data_dir: Folder of all sessions.
        files: The files.
        on_problem: Receives a message for each file that cannot be read.
    """

    def __init__(self, data_dir: Path, files: Sequence[SessionFile], on_problem: Callable[[str], None]) -> None:
        self._data_dir = data_dir
        self._on_problem = on_problem
        self._saved: dict[str, bytes] = {}
        self._facts: dict[str, bytes] = {}
        self._new: list[SummaryRow] = []
        self._file = ""
        self._folders: dict[str, Path] = {}
        # Paths are not saved, so that summaries outlive moving the data folder.
        self._decoder = msgspec.json.Decoder(SessionSummary | None, dec_hook=self._decode_path)
        # Without the database all files are read.
        with suppress(OSError), session_database(data_dir, wait_s=_WAIT_S) as database:
            self._saved = _valid_summaries(database, files)
            self._facts = _facts(database, [file for file in files if file.key not in self._saved])

    def _decode_path(self, _type: type, _value: object) -> Path:
        folder, _, name = self._file.rpartition("/")
        if folder not in self._folders:
            self._folders[folder] = Path(folder)
        # Half the time of parsing the whole path.
        return self._folders[folder] / name

    def summary(self, file: SessionFile) -> SessionSummary | None:
        """Return the summary of a file; None if it contains no conversation or cannot be read."""
        if data := self._saved.get(file.key):
            self._file = file.path
            try:
                return self._decoder.decode(data)
            except msgspec.DecodeError:
                pass  # Damaged; read from the file.
        try:
            summary = read_summary(Path(file.path), self._earlier_facts(file))
        except FileNotFoundError:
            return None
        except OSError as error:
            self._on_problem(f"{file.path} cannot be read: {error.strerror}")
            return None
        self._new.append(summary_row(file, summary))
        return summary

    def save(self) -> None:
        """Save the summaries that were read from files, unless another process is writing."""
        if not self._new:
            return
        with suppress(OSError), session_database(self._data_dir, wait_s=_WAIT_S) as database, transaction(database):
            save_summaries(database, self._new)

    def _earlier_facts(self, file: SessionFile) -> SessionFacts | None:
        """Return the facts of the part of a file that has been indexed."""
        data = self._facts.get(file.key)
        try:
            return msgspec.json.decode(data, type=SessionFacts) if data else None
        except msgspec.DecodeError:
            return None


def summary_row(file: SessionFile, summary: SessionSummary | None) -> SummaryRow:
    """Return the row of a summary."""
    stored = replace(summary, locked=False) if summary else None
    return file.key, file.size, file.modified, msgspec.json.encode(stored, enc_hook=lambda _: "")


def save_summaries(database: sqlite3.Connection, rows: Iterable[SummaryRow]) -> None:
    """Save summaries; call it in a transaction."""
    database.executemany("INSERT OR REPLACE INTO summaries (path, size, modified, data) VALUES (?, ?, ?, ?)", rows)


def _valid_summaries(database: sqlite3.Connection, files: Sequence[SessionFile]) -> dict[str, bytes]:
    """Return the encoded summaries of the files that have not changed, by key."""
    columns = "SELECT path, size, modified, data FROM summaries"
    folders = {file.key.partition("/")[0] for file in files}
    if len(folders) == 1:
        folder = folders.pop()
        found = database.execute(f"{columns} WHERE path >= ? AND path < ?", (f"{folder}/", f"{folder}0"))
    else:
        found = database.execute(columns)
    states = {file.key: (file.size, file.modified) for file in files}
    return {key: data for key, size, modified, data in found if states.get(key) == (size, modified)}


def _facts(database: sqlite3.Connection, files: Sequence[SessionFile]) -> dict[str, bytes]:
    """Return the facts of files of which a part has been indexed."""
    query = "SELECT facts FROM files WHERE path = ? AND done BETWEEN 1 AND ?"
    found = ((file.key, database.execute(query, (file.key, file.size)).fetchone()) for file in files)
    return {key: row[0] for key, row in found if row}
