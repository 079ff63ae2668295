"""Index of the definitions and words of files, in an SQLite database per project.

It is derived from the files. A database that is damaged, of another version or in use is replaced or done without.
"""

from __future__ import annotations

import hashlib
import os
import sqlite3
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, suppress
from pathlib import Path
from typing import TypeVar

import msgspec
from msgspec import Struct

from tools.symbols.definitions import Definition
from tools.symbols.languages import queries_version

_VERSION = 3
_BUSY_S = 2.0
_MOST_DATABASES = 20
"""Number of projects with an index; that of the project used least recently is removed."""
_MOST_RANKINGS = 20
_SCHEMA = """
CREATE TABLE files (
    id INTEGER PRIMARY KEY, path TEXT UNIQUE NOT NULL, modified INTEGER NOT NULL, size INTEGER NOT NULL,
    is_parsed INTEGER NOT NULL
);
CREATE TABLE tags (id INTEGER PRIMARY KEY, definitions BLOB NOT NULL, weights BLOB NOT NULL, words BLOB NOT NULL);
CREATE TABLE current (prefix TEXT PRIMARY KEY, state BLOB NOT NULL);
CREATE TABLE rankings (state BLOB PRIMARY KEY, data BLOB NOT NULL, used INTEGER NOT NULL);
"""
_IN_USE = (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED)
Result = TypeVar("Result")
_ENCODER = msgspec.msgpack.Encoder()
_DEFINITIONS = msgspec.msgpack.Decoder(list[Definition])
_WEIGHTS = msgspec.msgpack.Decoder(dict[str, float])
_WORDS = msgspec.msgpack.Decoder(dict[str, int])


class Stamp(Struct, frozen=True):
    """State of a file: its time of change in nanoseconds and its size."""

    modified: int
    size: int


class Tags(Struct, frozen=True):
    """Definitions in a file and the weights of its names, encoded."""

    definitions: bytes
    weights: bytes
    """Names that other files can refer to, with their weights."""

    @classmethod
    def of(cls, definitions: Sequence[Definition], weights: Mapping[str, float]) -> Tags:
        return cls(_ENCODER.encode(definitions), _ENCODER.encode(weights))


class FileEntry(Struct, frozen=True):
    """A file that is not parsed yet."""

    path: str
    stamp: Stamp
    words: bytes
    """Words in the file with their numbers, encoded."""

    tags: Tags
    """No definitions, and the weights of the names that it seems to declare."""


def encoded_words(words: Mapping[str, int]) -> bytes:
    return _ENCODER.encode(words)


def decoded_definitions(data: bytes) -> list[Definition]:
    return _DEFINITIONS.decode(data)


class IndexDatabase:
    """An open database. A file gets its words first, and its definitions when it is parsed."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection

    def stamps(self) -> dict[str, Stamp]:
        """Return the files whose words are known."""
        rows = self._connection.execute("SELECT path, modified, size FROM files")
        return {path: Stamp(modified, size) for path, modified, size in rows}

    def is_current(self, prefix: str, state: bytes) -> bool:
        """Return True if the files below a prefix were in this state when they were last looked at."""
        query = "SELECT 1 FROM current WHERE prefix = ? AND state = ?"
        return self._connection.execute(query, (prefix, state)).fetchone() is not None

    def set_current(self, prefix: str, state: bytes) -> None:
        """Note the state of the files below a prefix, until a file is added, replaced or removed."""
        with self._connection:
            self._connection.execute("INSERT OR REPLACE INTO current VALUES (?, ?)", (prefix, state))

    def unparsed(self) -> list[str]:
        """Return the files that are not parsed, in the order of their paths."""
        rows = self._connection.execute("SELECT path FROM files WHERE NOT is_parsed ORDER BY path")
        return [path for (path,) in rows]

    def save_files(self, entries: Iterable[FileEntry]) -> None:
        """Add or replace files that are not parsed."""
        with self._connection:
            self._connection.execute("DELETE FROM current")
            for entry in entries:
                (number,) = self._connection.execute(
                    "INSERT INTO files (path, modified, size, is_parsed) VALUES (?, ?, ?, 0) "
                    "ON CONFLICT (path) DO UPDATE SET modified = excluded.modified, size = excluded.size, "
                    "is_parsed = 0 RETURNING id",
                    (entry.path, entry.stamp.modified, entry.stamp.size),
                ).fetchone()
                self._connection.execute(
                    "INSERT OR REPLACE INTO tags VALUES (?, ?, ?, ?)",
                    (number, entry.tags.definitions, entry.tags.weights, entry.words),
                )

    def save_tags(self, entries: Iterable[tuple[str, Tags]]) -> None:
        """Replace the tags of files that have been parsed."""
        with self._connection:
            for path, tags in entries:
                found = self._connection.execute("UPDATE files SET is_parsed = 1 WHERE path = ? RETURNING id", (path,))
                # Another process may have removed the file meanwhile.
                for (number,) in found.fetchall():
                    self._connection.execute(
                        "UPDATE tags SET definitions = ?, weights = ? WHERE id = ?",
                        (tags.definitions, tags.weights, number),
                    )

    def remove(self, paths: Iterable[str]) -> None:
        with self._connection:
            self._connection.execute("DELETE FROM current")
            for path in paths:
                self._connection.execute("DELETE FROM tags WHERE id = (SELECT id FROM files WHERE path = ?)", (path,))
                self._connection.execute("DELETE FROM files WHERE path = ?", (path,))

    def words(self) -> Iterator[tuple[str, bytes]]:
        """Yield the words of all files, encoded, in the order of their paths."""
        yield from self._connection.execute("SELECT path, words FROM files JOIN tags USING (id) ORDER BY path")

    def weights(self) -> Iterator[tuple[str, dict[str, float], dict[str, int]]]:
        """Yield the weights and words of all files, in the order of their paths."""
        query = "SELECT path, weights, words FROM files JOIN tags USING (id) ORDER BY path"
        for path, weights, words in self._connection.execute(query):
            yield path, _WEIGHTS.decode(weights), _WORDS.decode(words)

    def definitions(self) -> Iterator[tuple[str, bytes]]:
        """Yield the definitions in all files, encoded, in the order of their paths; none if a file is not parsed."""
        yield from self._connection.execute("SELECT path, definitions FROM files JOIN tags USING (id) ORDER BY path")

    def definitions_in(self, path: str) -> list[Definition]:
        """Return the definitions in one file; empty if it is not parsed."""
        query = "SELECT definitions FROM files JOIN tags USING (id) WHERE path = ?"
        found = self._connection.execute(query, (path,)).fetchone()
        return decoded_definitions(found[0]) if found else []

    def ranking(self, state: bytes) -> bytes | None:
        """Return the saved ranking of files in a state."""
        found = self._connection.execute("SELECT data FROM rankings WHERE state = ?", (state,)).fetchone()
        return found[0] if found else None

    def save_ranking(self, state: bytes, data: bytes) -> None:
        """Save a ranking; only the latest ones are kept."""
        with self._connection:
            (used,) = self._connection.execute("SELECT ifnull(max(used), 0) + 1 FROM rankings").fetchone()
            self._connection.execute("INSERT OR REPLACE INTO rankings VALUES (?, ?, ?)", (state, data, used))
            self._connection.execute("DELETE FROM rankings WHERE used <= ?", (used - _MOST_RANKINGS,))


def use_index(folder: Path | None, root: str, work: Callable[[IndexDatabase], Result]) -> Result:
    """Return the result of some work with the index of a project; the work is repeated if the database cannot be used.

    Args:
        folder: Folder of all indexes; None for an index in memory.
        root: The project.
        work: Uses the database; may be called twice.
    """
    if folder is not None:
        try:
            return _use(_connect(folder, root), work)
        except (sqlite3.Error, msgspec.MsgspecError, OSError) as error:
            if getattr(error, "sqlite_errorcode", sqlite3.SQLITE_BUSY) & 0xFF not in _IN_USE:
                with suppress(OSError):
                    _remove(index_path(folder, root))
    return _use(sqlite3.connect(":memory:"), work)


def _use(connection: sqlite3.Connection, work: Callable[[IndexDatabase], Result]) -> Result:
    with closing(connection):
        if connection.execute("PRAGMA user_version").fetchone()[0] != _version():
            _create(connection)
        return work(IndexDatabase(connection))


def index_path(folder: Path, root: str) -> Path:
    """Return the file of a project's index."""
    return folder / f"{hashlib.blake2b(os.fsencode(root), digest_size=16).hexdigest()}.db"


def _connect(folder: Path, root: str) -> sqlite3.Connection:
    path = index_path(folder, root)
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    # SQLite gives the files that it creates next to the database the same mode.
    os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600))
    os.utime(path)
    _remove_oldest(folder)
    return sqlite3.connect(path, timeout=_BUSY_S)


def _create(connection: sqlite3.Connection) -> None:
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute("PRAGMA synchronous = OFF")
    with connection:
        connection.execute("BEGIN IMMEDIATE")
        for table in ("files", "tags", "current", "rankings"):
            connection.execute(f"DROP TABLE IF EXISTS {table}")
        for statement in filter(str.strip, _SCHEMA.split(";")):
            connection.execute(statement)
        connection.execute(f"PRAGMA user_version = {_version()}")


def _version() -> int:
    return (queries_version() + _VERSION) & 0x7FFFFFFF


def _remove_oldest(folder: Path) -> None:
    databases = sorted(folder.glob("*.db"), key=lambda path: path.stat().st_mtime, reverse=True)
    for path in databases[_MOST_DATABASES:]:
        _remove(path)


def _remove(path: Path) -> None:
    for suffix in ("-wal", "-shm", ""):
        Path(f"{path}{suffix}").unlink(missing_ok=True)
