"""Full-text search over all sessions, with an SQLite index (FTS5) beside them.

The session files are the truth. The index is derived from them, brought up to date by reading what was appended, and
built anew when it is missing, damaged or of another version. It holds words and positions, no text: snippets are read
from the files.

Source: https://www.sqlite.org/fts5.html (contentless tables, bm25).
"""

from __future__ import annotations

import os
import re
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing, suppress
from pathlib import Path

from msgspec import Struct

from harness.messages import JsonObject
from harness.session.journal import make_private
from harness.session.paths import open_session_file, projects_dir, session_files
from harness.session.reading import blocks_of, object_at, parse, text_at, time_of

_VERSION = 1
_TAIL = 64
_PART = 8 << 20
_SNIPPET = 72
_BUSY_S = 5.0
_RANKED = 5_000

_SCHEMA = """
CREATE TABLE files (
    id INTEGER PRIMARY KEY, path TEXT UNIQUE NOT NULL, cwd TEXT NOT NULL,
    size INTEGER NOT NULL, modified INTEGER NOT NULL, done INTEGER NOT NULL, tail BLOB NOT NULL
);
CREATE TABLE messages (
    id INTEGER PRIMARY KEY, file INTEGER NOT NULL, place INTEGER NOT NULL, size INTEGER NOT NULL, time REAL NOT NULL
);
CREATE INDEX messages_of_file ON messages (file);
CREATE TABLE facts (
    file INTEGER NOT NULL, kind TEXT NOT NULL, value TEXT NOT NULL, PRIMARY KEY (file, kind, value)
) WITHOUT ROWID;
CREATE VIRTUAL TABLE words USING fts5 (body, content='', tokenize='unicode61 remove_diacritics 2');
"""

# These scripts do not separate words, so each character is a word and a word is a phrase.
_UNSPACED = re.compile("([\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\uac00-\ud7af\u0e00-\u0e7f])")
_TERM = re.compile(r'"([^"]+)"|(\S+)')
_FILE_ARGUMENTS = ("path", "file_path", "notebook_path")


class SearchQuery(Struct, frozen=True):
    """Text and filters of a search; empty fields do not restrict it."""

    text: str
    """Words that a message must contain, the last one possibly incomplete; a phrase in double quotes."""
    cwd: Path | None = None
    """Folder in which the session was started."""
    since: float = 0.0
    """Earliest time of a message, in seconds since the epoch."""
    until: float = 0.0
    """Latest time of a message, in seconds since the epoch; 0: now."""
    model: str = ""
    """Part of the name of a model that replied in the session."""
    tool: str = ""
    """Name of a tool that was called in the session."""
    file: str = ""
    """File that a tool of the session was given, or the end of its path."""


class SearchHit(Struct, frozen=True):
    """A message that contains the searched text."""

    path: Path
    """The session file."""
    session_id: str
    """Id of the session."""
    message_id: str
    """Uuid of the line."""
    role: str
    """`user`, `assistant` or `tool`."""
    time: float
    """Time of the message, in seconds since the epoch."""
    snippet: str
    """Text around the match, on one line."""


class SessionIndex:
    """Index of the sessions below a data folder. Thread-safe: each method opens the database for itself.

    Args:
        data_dir: Folder of all sessions; the index is the file `sessions.db` in it.
    """

    def __init__(self, data_dir: Path) -> None:
        self._data_dir = data_dir
        self.path = data_dir / "sessions.db"

    def update(self, should_stop: Callable[[], bool] = lambda: False) -> None:
        """Index what was appended since the last time. Returns early if `should_stop` or another process is at it.

        Raises:
            OSError: The index cannot be written.
        """
        make_private(self._data_dir)
        try:
            self._update(should_stop)
        except sqlite3.OperationalError as error:
            if "locked" not in str(error):
                raise OSError(str(error)) from error
        except sqlite3.DatabaseError:
            # Damaged; everything in it can be derived again.
            self._remove()
            self._update(should_stop)

    def search(self, query: SearchQuery, limit: int = 50) -> list[SearchHit]:
        """Return the best matches, ranked by bm25; changes since the last update are not found."""
        if not (wanted := _match_expression(query.text)) or not self.path.exists():
            return []
        with closing(self._open()) as database:
            try:
                rows = database.execute(*_statement(query, wanted, limit)).fetchall()
            except sqlite3.DatabaseError:
                return []
        words = [term for term, _ in _terms(query.text)]
        return [hit for path, place, size in rows if (hit := _hit(Path(path), place, size, words))]

    def _open(self) -> sqlite3.Connection:
        database = sqlite3.connect(self.path, timeout=_BUSY_S, isolation_level=None)
        database.execute("PRAGMA synchronous = OFF")
        return database

    def _update(self, should_stop: Callable[[], bool]) -> None:
        with closing(self._open()) as database:
            self.path.chmod(0o600)
            database.execute("PRAGMA journal_mode = WAL")
            if database.execute("PRAGMA user_version").fetchone()[0] != _VERSION:
                self._create(database)
            known = {
                row[0]: row[1:] for row in database.execute("SELECT path, id, size, modified, done, tail FROM files")
            }
            for path in _session_paths(self._data_dir):
                if should_stop():
                    return
                state = known.pop(str(path), None)
                with suppress(OSError):
                    _index_file(database, path, state, should_stop)
            for gone in known.values():
                _forget(database, gone[0])

    def _create(self, database: sqlite3.Connection) -> None:
        database.execute("BEGIN IMMEDIATE")
        for (name,) in database.execute(
            "SELECT name FROM sqlite_master WHERE type = 'table' AND name IN ('files', 'messages', 'facts', 'words')"
        ).fetchall():
            database.execute(f"DROP TABLE {name}")
        for statement in filter(str.strip, _SCHEMA.split(";")):
            database.execute(statement)
        database.execute(f"PRAGMA user_version = {_VERSION}")
        database.execute("COMMIT")

    def _remove(self) -> None:
        for suffix in ("", "-wal", "-shm"):
            Path(f"{self.path}{suffix}").unlink(missing_ok=True)


def _session_paths(data_dir: Path) -> list[Path]:
    try:
        return [path for folder in projects_dir(data_dir).iterdir() for path in session_files(folder)]
    except OSError:
        return []


def _index_file(
    database: sqlite3.Connection,
    path: Path,
    state: tuple[int, int, int, int, bytes] | None,
    should_stop: Callable[[], bool],
) -> None:
    """Index what is new in a file; a file that was not only appended to is indexed anew."""
    stat = path.stat()
    if state and (stat.st_size, stat.st_mtime_ns) == state[1:3]:
        return
    with open_session_file(path) as file:
        done, tail = (state[3], state[4]) if state else (0, b"")
        if state and os.pread(file.fileno(), len(tail), done - len(tail)) != tail:
            _forget(database, state[0])
            state, done, tail = None, 0, b""
        file.seek(done)
        while not should_stop():
            database.execute("BEGIN IMMEDIATE")
            if state is None:
                row = database.execute(
                    "INSERT INTO files (path, cwd, size, modified, done, tail) VALUES (?, '', 0, 0, 0, x'')",
                    (str(path),),
                )
                state = (row.lastrowid or 0, 0, 0, 0, b"")
            started = done
            done, tail = _index_part(database, state[0], file, done, tail)
            is_end = done - started < _PART
            size, modified = (stat.st_size, stat.st_mtime_ns) if is_end else (0, 0)
            database.execute(
                "UPDATE files SET size = ?, modified = ?, done = ?, tail = ? WHERE id = ?",
                (size, modified, done, tail, state[0]),
            )
            database.execute("COMMIT")
            if is_end:
                return


def _index_part(
    database: sqlite3.Connection, file_id: int, file: Iterator[bytes], done: int, tail: bytes
) -> tuple[int, bytes]:
    """Index complete lines up to about 8 MB; return the position after them and the last bytes before it."""
    limit = done + _PART
    for line in file:
        if not line.endswith(b"\n"):
            break
        if line.startswith((b'{"parentUuid"', b"{")) and b'"type":"cinch-' not in line[:16]:
            _index_line(database, file_id, line, done)
        done += len(line)
        tail = line[-_TAIL:]
        if done >= limit:
            break
    return done, tail


def _index_line(database: sqlite3.Connection, file_id: int, line: bytes, place: int) -> None:
    record = parse(line)
    if not record or record.get("type") not in ("user", "assistant") or record.get("isSidechain") is True:
        return
    if cwd := text_at(record, "cwd"):
        database.execute("UPDATE files SET cwd = ? WHERE id = ? AND cwd = ''", (cwd, file_id))
    database.executemany(
        "INSERT OR IGNORE INTO facts (file, kind, value) VALUES (?, ?, ?)",
        [(file_id, kind, value) for kind, value in _facts(record)],
    )
    if body := "\n".join(texts_of(record)):
        row = database.execute(
            "INSERT INTO messages (file, place, size, time) VALUES (?, ?, ?, ?)",
            (file_id, place, len(line), time_of(record)),
        )
        database.execute("INSERT INTO words (rowid, body) VALUES (?, ?)", (row.lastrowid, _spaced(body)))


def _facts(record: JsonObject) -> Iterator[tuple[str, str]]:
    if record.get("type") == "assistant":
        yield "model", text_at(object_at(record, "message"), "model")
    for block in blocks_of(record):
        if block.get("type") == "tool_use":
            yield "tool", text_at(block, "name")
            given = object_at(block, "input")
            yield from (("file", text_at(given, key)) for key in _FILE_ARGUMENTS if text_at(given, key))


def texts_of(record: JsonObject) -> Iterator[str]:
    """Yield what a user reads of a line: texts and results, not the text that closes an interrupted reply."""
    if object_at(record, "cinch").get("closing") is True:
        return
    for block in blocks_of(record):
        content = block.get("content")
        if text := text_at(block, "text") or text_at(block, "content"):
            yield text
        if isinstance(content, list):
            yield from (text for each in content if isinstance(each, dict) and (text := text_at(each, "text")))


def _forget(database: sqlite3.Connection, file_id: int) -> None:
    """Remove a file from the index. Its words stay and lead nowhere, since the table does not hold the text."""
    database.execute("BEGIN IMMEDIATE")
    for statement in (
        "DELETE FROM messages WHERE file = ?",
        "DELETE FROM facts WHERE file = ?",
        "DELETE FROM files WHERE id = ?",
    ):
        database.execute(statement, (file_id,))
    database.execute("COMMIT")


def _match_expression(text: str) -> str:
    """Return an FTS5 expression: all words and phrases, the last word as a prefix."""
    terms = [(_spaced(term.replace('"', " ")), is_word) for term, is_word in _terms(text) if re.search(r"\w", term)]
    expression = " ".join(f'"{term}"' for term, _ in terms)
    return f"{expression}*" if terms and terms[-1][1] else expression


def _terms(text: str) -> list[tuple[str, bool]]:
    """Return the words and phrases of a query, each with True for a word."""
    return [(found[1] or found[2], found[1] is None) for found in _TERM.finditer(text)]


def _spaced(text: str) -> str:
    return _UNSPACED.sub(r" \1 ", text)


def _statement(query: SearchQuery, wanted: str, limit: int) -> tuple[str, list[str | float | int]]:
    conditions, values = ["words MATCH ?"], list[str | float | int]([wanted])
    for condition, value in (
        ("f.cwd = ?", str(query.cwd) if query.cwd else ""),
        ("m.time >= ?", query.since),
        ("m.time <= ?", query.until),
        ("EXISTS (SELECT 1 FROM facts WHERE file = f.id AND kind = 'model' AND instr(value, ?))", query.model),
        ("EXISTS (SELECT 1 FROM facts WHERE file = f.id AND kind = 'tool' AND value = ?)", query.tool),
        (
            "EXISTS (SELECT 1 FROM facts WHERE file = f.id AND kind = 'file' AND '/' || value LIKE '%/' || ?)",
            query.file,
        ),
    ):
        if value:
            conditions.append(condition)
            values.append(value)
    # Ranking takes time for every match, so of a frequent word only the latest matches are ranked.
    return (
        "SELECT path, place, size FROM ("
        "SELECT f.path, m.place, m.size, m.time, bm25(words) AS score FROM words JOIN messages m ON m.id = words.rowid "
        f"JOIN files f ON f.id = m.file WHERE {' AND '.join(conditions)} ORDER BY words.rowid DESC LIMIT {_RANKED}"
        ") ORDER BY score, time DESC LIMIT ?",
        [*values, limit],
    )


def _hit(path: Path, place: int, size: int, words: list[str]) -> SearchHit | None:
    """Return the match at a place of a file; None if the file has changed there."""
    try:
        with open_session_file(path) as file:
            record = parse(os.pread(file.fileno(), size, place))
    except OSError:
        return None
    if record is None:
        return None
    is_result = any(block.get("type") == "tool_result" for block in blocks_of(record))
    body = "\n".join(texts_of(record))
    return SearchHit(
        path,
        path.stem,
        text_at(record, "uuid"),
        "tool" if is_result else text_at(record, "type"),
        time_of(record),
        _snippet(body, words),
    )


def _snippet(body: str, words: list[str]) -> str:
    folded = body.casefold()
    places = [place for word in words if (place := folded.find(word.casefold())) >= 0]
    start = min(places, default=0)
    return " ".join(body[max(0, start - _SNIPPET) : start + 2 * _SNIPPET].split())
