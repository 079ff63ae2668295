"""SQLite database of the session index: summaries for lists, and words for full-text search (FTS5).

The session files are the truth. The database is the file `sessions.db` next to them; it is derived from them and
created anew when it is missing, damaged or of another version. Everything that uses it works without it, only slower.

Source: https://www.sqlite.org/fts5.html (contentless tables), https://www.sqlite.org/rescode.html.
"""

from __future__ import annotations

import os
from collections.abc import Generator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from harness.session.journal import make_private

if TYPE_CHECKING:
    import sqlite3

_VERSION = 2
_BUSY_S = 5.0
_BUSY = (5, 6)
_DAMAGED = (11, 26)
_MISSING = ("no such table", "no such column", "has no column")

# Ids of messages are not used again: the words of a removed message stay, since the table of words has no text.
_SCHEMA = """
CREATE TABLE files (
    id INTEGER PRIMARY KEY, path TEXT UNIQUE NOT NULL, size INTEGER NOT NULL, modified INTEGER NOT NULL,
    done INTEGER NOT NULL, tail BLOB NOT NULL, facts BLOB NOT NULL
);
CREATE TABLE messages (
    id INTEGER PRIMARY KEY AUTOINCREMENT, file INTEGER NOT NULL, place INTEGER NOT NULL, size INTEGER NOT NULL,
    number INTEGER NOT NULL, time REAL NOT NULL, tool TEXT NOT NULL
);
CREATE INDEX messages_of_file ON messages (file);
CREATE TABLE used (
    file INTEGER NOT NULL, kind TEXT NOT NULL, value TEXT NOT NULL, PRIMARY KEY (file, kind, value)
) WITHOUT ROWID;
CREATE TABLE summaries (
    path TEXT PRIMARY KEY, size INTEGER NOT NULL, modified INTEGER NOT NULL, data BLOB NOT NULL
);
CREATE VIRTUAL TABLE words USING fts5 (body, content='', tokenize='unicode61 remove_diacritics 2');
"""


class IndexDamaged(OSError):
    """The database was damaged and has been removed; the next use creates it anew."""


def database_path(data_dir: Path) -> Path:
    return data_dir / "sessions.db"


@contextmanager
def session_database(data_dir: Path, *, wait_s: float | None = None) -> Generator[sqlite3.Connection]:
    """Open the database, creating it if necessary.

    Args:
        data_dir: Folder of all sessions.
        wait_s: Seconds to wait for another process that is writing; None: 5.

    Raises:
        BlockingIOError: Another process was writing all the time.
        IndexDamaged: The database was damaged.
        OSError: The database cannot be used here: a read-only folder, a full disk, a Python without SQLite or FTS5.
    """
    try:
        # Imported late: a start does not need it, and some builds of Python lack it.
        import sqlite3
    except ImportError as error:
        raise OSError("this Python has no SQLite") from error
    path = database_path(data_dir)
    make_private(data_dir)
    # SQLite gives the files that it creates next to the database the same mode.
    os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600))
    try:
        with closing(
            sqlite3.connect(path, timeout=_BUSY_S if wait_s is None else wait_s, isolation_level=None)
        ) as database:
            database.execute("PRAGMA synchronous = NORMAL")
            if _version(database) != _VERSION:
                _create(database)
            yield database
    except sqlite3.Error as error:
        raise _as_os_error(error, path) from error


@contextmanager
def transaction(database: sqlite3.Connection) -> Generator[None]:
    """Write everything or nothing."""
    database.execute("BEGIN IMMEDIATE")
    try:
        yield
    except BaseException:
        if database.in_transaction:
            database.execute("ROLLBACK")
        raise
    database.execute("COMMIT")


def is_built(database: sqlite3.Connection) -> bool:
    """Return True if all sessions have been indexed once."""
    return bool(database.execute("PRAGMA application_id").fetchone()[0])


def set_built(database: sqlite3.Connection) -> None:
    """Record that all sessions have been indexed once."""
    if not is_built(database):
        database.execute("PRAGMA application_id = 1")


def clear(database: sqlite3.Connection) -> None:
    """Empty the database, to build it anew."""
    with transaction(database):
        _make_tables(database)


def _version(database: sqlite3.Connection) -> int:
    return database.execute("PRAGMA user_version").fetchone()[0]


def _create(database: sqlite3.Connection) -> None:
    # Searches continue while another process writes.
    database.execute("PRAGMA journal_mode = WAL")
    with transaction(database):
        # Another process may have created it meanwhile.
        if _version(database) != _VERSION:
            _make_tables(database)


def _make_tables(database: sqlite3.Connection) -> None:
    tables = (
        "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%' AND name NOT LIKE 'words_%'"
    )
    for (name,) in database.execute(tables).fetchall():
        database.execute(f'DROP TABLE "{name}"')
    for statement in filter(str.strip, _SCHEMA.split(";")):
        database.execute(statement)
    database.execute(f"PRAGMA user_version = {_VERSION}")
    database.execute("PRAGMA application_id = 0")


def _as_os_error(error: sqlite3.Error, path: Path) -> OSError:
    # Python sets no code on errors of its own, such as a closed connection.
    code = getattr(error, "sqlite_errorcode", 0) & 0xFF
    if code in _BUSY:
        return BlockingIOError(f"{path} is in use")
    if code in _DAMAGED or any(reason in str(error) for reason in _MISSING):
        for suffix in ("-wal", "-shm", ""):
            Path(f"{path}{suffix}").unlink(missing_ok=True)
        return IndexDamaged(f"{path} was damaged")
    return OSError(f"{path}: {error}")
