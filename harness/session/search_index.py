"""Incremental update of the full-text index from the session files.

The index holds words and positions, no text: snippets are read from the files. A file is read from where the last
update ended; one that was not only appended to is indexed anew.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator
from operator import attrgetter
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

import msgspec
from msgspec import Struct

from harness.messages import JsonObject, JsonValue
from harness.session.database import (
    IndexDamaged,
    clear,
    database_path,
    session_database,
    set_built,
    transaction,
)
from harness.session.paths import SessionFile, find_files, open_session_file
from harness.session.reading import blocks_of, object_at, parse, split_joined, text_at, time_of
from harness.session.summary import SessionFacts, model_name, read_summary
from harness.session.summary_cache import save_summaries, summary_row

if TYPE_CHECKING:
    import sqlite3

_BATCH = 8 << 20
_TAIL = 64
_MOST_UNUSED = 0.25
_LEAST_UNUSED = 1_000

# These scripts do not separate words, so each character is a word and a word is a phrase.
_UNSPACED = re.compile("([\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\uac00-\ud7af\u0e00-\u0e7f])")
_FILE_ARGUMENTS = ("path", "file_path", "notebook_path")


def update_index(
    data_dir: Path,
    should_stop: Callable[[], bool] = lambda: False,
    on_progress: Callable[[int, int], None] = lambda _done, _total: None,
) -> None:
    """Index what was written since the last update. Call it in a thread; another process may do the same.

    It writes in transactions of about 8 MB, so that a stopped update continues where it ended.

    Args:
        data_dir: Folder of all sessions.
        should_stop: Checked after each line; True ends the update.
        on_progress: Receives the number of bytes that have been read, and of all bytes to read.

    Raises:
        OSError: The index cannot be written.
    """
    try:
        _update(data_dir, should_stop, on_progress)
    except IndexDamaged:
        _update(data_dir, should_stop, on_progress)
    except BlockingIOError:
        # Another process is updating it.
        return


def _update(data_dir: Path, should_stop: Callable[[], bool], on_progress: Callable[[int, int], None]) -> None:
    problems: list[str] = []
    files = find_files(data_dir, None, problems.append)
    if not files and not database_path(data_dir).exists():
        return
    with session_database(data_dir) as database:
        if _is_wasteful(database):
            clear(database)
        known = {row[0]: row[1:] for row in database.execute("SELECT path, size, modified, done FROM files")}
        # A file that cannot be read may be readable again later.
        if not problems:
            _forget(database, {file.key for file in files})
        changed = [file for file in files if known.get(file.key, ())[:2] != (file.size, file.modified)]
        # The newest messages get the highest ids, by which a search of a frequent word finds the newest.
        changed.sort(key=attrgetter("modified"), reverse=True)
        starts = {file.key: known[file.key][2] for file in changed if file.key in known}
        total = sum(max(0, file.size - starts.get(file.key, 0)) for file in changed)
        done = 0
        while changed and not should_stop():
            with transaction(database):
                done += _index_batch(database, changed, should_stop)
            on_progress(min(done, total), total)
        if not changed:
            set_built(database)


def _is_wasteful(database: sqlite3.Connection) -> bool:
    """Return True if many of the indexed words are those of messages that no longer exist."""
    last = database.execute("SELECT seq FROM sqlite_sequence WHERE name = 'messages'").fetchone()
    count = database.execute("SELECT count(*) FROM messages").fetchone()[0]
    return bool(last) and last[0] - count > max(_LEAST_UNUSED, _MOST_UNUSED * last[0])


def _index_batch(database: sqlite3.Connection, files: list[SessionFile], should_stop: Callable[[], bool]) -> int:
    """Index about 8 MB of the last files of a list, and remove those that are done; return the number of bytes."""
    done = 0
    while files and done < _BATCH and not should_stop():
        indexing = _FileIndexing(database, files[-1])
        try:
            indexing.run(_BATCH - done, should_stop)
        except OSError:
            # Unreadable, deleted or moved meanwhile.
            indexing.is_complete = True
        done += indexing.read
        if indexing.is_complete:
            files.pop()
    return done


class _State(Struct):
    id: int
    size: int
    modified: int
    done: int
    tail: bytes
    facts: SessionFacts


class _FileIndexing:
    """Indexing of a part of a file, in a transaction."""

    def __init__(self, database: sqlite3.Connection, file: SessionFile) -> None:
        self._database = database
        self._file = file
        self._tools: dict[str, str] = {}
        self.read = 0
        """Number of bytes read."""
        self.is_complete = False
        """True if the file needs no further work."""

    def run(self, limit: int, should_stop: Callable[[], bool]) -> None:
        """Index up to about `limit` bytes.

        Raises:
            OSError: The file cannot be opened.
        """
        with open_session_file(Path(self._file.path)) as source:
            # Read here, since another process may have indexed it meanwhile.
            state = self._load()
            if (state.size, state.modified) == (self._file.size, self._file.modified):
                self.is_complete = True
                return
            if os.pread(source.fileno(), len(state.tail), state.done - len(state.tail)) != state.tail:
                _forget_words(self._database, state.id)
                state = _State(state.id, 0, 0, 0, b"", SessionFacts())
            source.seek(state.done)
            self._index(source, state, limit, should_stop)
        self._save(state)

    def _load(self) -> _State:
        query = "SELECT id, size, modified, done, tail, facts FROM files WHERE path = ?"
        row = self._database.execute(query, (self._file.key,)).fetchone()
        if row is None:
            added = self._database.execute(
                "INSERT INTO files (path, size, modified, done, tail, facts) VALUES (?, 0, 0, 0, x'', x'')",
                (self._file.key,),
            )
            return _State(added.lastrowid or 0, 0, 0, 0, b"", SessionFacts())
        facts = msgspec.json.decode(row[5], type=SessionFacts) if row[5] else SessionFacts()
        file_id, size, modified, done, tail, _ = row
        return _State(file_id, size, modified, done, tail, facts)

    def _index(self, source: BinaryIO, state: _State, limit: int, should_stop: Callable[[], bool]) -> None:
        while self.read < limit and not should_stop():
            line = source.readline()
            if not line.endswith(b"\n"):
                # The end; a line that is not complete yet is read when it is.
                self.is_complete = True
                return
            self._index_line(state, line)
            self.read += len(line)
            state.done += len(line)
            state.tail = line[-_TAIL:]

    def _index_line(self, state: _State, line: bytes) -> None:
        if record := parse(line):
            self._add(state, record, state.done, len(line))
            return
        place = state.done
        for piece in split_joined(line):
            if record := parse(piece):
                self._add(state, record, place, len(piece))
            place += len(piece)

    def _add(self, state: _State, record: JsonObject, place: int, size: int) -> None:
        state.facts.add(record)
        if not is_message(record):
            return
        used = [(state.id, kind, value) for kind, value in facts_of(record)]
        self._database.executemany("INSERT OR IGNORE INTO used (file, kind, value) VALUES (?, ?, ?)", used)
        self._tools.update(calls_of(record))
        if body := "\n".join(texts_of(record)):
            row = self._database.execute(
                "INSERT INTO messages (file, place, size, number, time, tool) VALUES (?, ?, ?, ?, ?, ?)",
                (state.id, place, size, state.facts.messages, time_of(record), tool_of(record, self._tools)),
            )
            self._database.execute("INSERT INTO words (rowid, body) VALUES (?, ?)", (row.lastrowid, spaced(body)))

    def _save(self, state: _State) -> None:
        size, modified = (self._file.size, self._file.modified) if self.is_complete else (0, 0)
        self._database.execute(
            "UPDATE files SET size = ?, modified = ?, done = ?, tail = ?, facts = ? WHERE id = ?",
            (size, modified, state.done, state.tail, msgspec.json.encode(state.facts), state.id),
        )
        if self.is_complete:
            summary = read_summary(Path(self._file.path), state.facts, is_current=True)
            save_summaries(self._database, [summary_row(self._file, summary)])


def is_message(record: JsonObject) -> bool:
    """Return True for a line whose text is searched: not the one that closes an interrupted reply."""
    if record.get("type") not in ("user", "assistant") or record.get("isSidechain") is True:
        return False
    return object_at(record, "cinch").get("closing") is not True


def texts_of(record: JsonObject) -> Iterator[str]:
    """Yield what a user reads of a message: its texts, the arguments of calls, and results."""
    for block in blocks_of(record):
        if text := text_at(block, "text") or text_at(block, "content"):
            yield text
        content = block.get("content")
        if isinstance(content, list):
            yield from (text for each in content if isinstance(each, dict) and (text := text_at(each, "text")))
        if block.get("type") == "tool_use":
            yield from _strings(block.get("input"))


def _strings(value: JsonValue) -> Iterator[str]:
    waiting = [value]
    while waiting:
        match waiting.pop():
            case str(text) if text:
                yield text
            case dict(items):
                waiting += reversed(items.values())
            case list(items):
                waiting += reversed(items)
            case _:
                pass


def facts_of(record: JsonObject) -> Iterator[tuple[str, str]]:
    """Yield the model and the files of a message, each as kind and value."""
    if record.get("type") == "assistant" and (model := model_name(record)):
        yield "model", model
    for block in blocks_of(record):
        if block.get("type") == "tool_use":
            given = object_at(block, "input")
            yield from (("file", text_at(given, key)) for key in _FILE_ARGUMENTS if text_at(given, key))


def calls_of(record: JsonObject) -> Iterator[tuple[str, str]]:
    """Yield the id and the tool of each call."""
    calls = (block for block in blocks_of(record) if block.get("type") == "tool_use")
    return ((text_at(call, "id"), text_at(call, "name")) for call in calls)


def tool_of(record: JsonObject, tools: dict[str, str]) -> str:
    """Return the tool that a message calls, or whose result it is; `tools` has the tools of earlier calls by id."""
    ours = text_at(object_at(object_at(record, "toolUseResult"), "cinch"), "tool")
    for block in blocks_of(record):
        if block.get("type") == "tool_use":
            return text_at(block, "name")
        if block.get("type") == "tool_result":
            return ours or tools.get(text_at(block, "tool_use_id"), "")
    return ""


def spaced(text: str) -> str:
    """Return a text with spaces around characters of scripts that do not separate words."""
    return _UNSPACED.sub(r" \1 ", text)


def _forget(database: sqlite3.Connection, existing: set[str]) -> None:
    """Remove all files but the existing ones."""
    rows = database.execute("SELECT path FROM files UNION SELECT path FROM summaries")
    gone = [(path,) for (path,) in rows if path not in existing]
    if not gone:
        return
    with transaction(database):
        for path in gone:
            for (file_id,) in database.execute("SELECT id FROM files WHERE path = ?", path).fetchall():
                _forget_words(database, file_id)
        database.executemany("DELETE FROM files WHERE path = ?", gone)
        database.executemany("DELETE FROM summaries WHERE path = ?", gone)


def _forget_words(database: sqlite3.Connection, file_id: int) -> None:
    """Remove the messages of a file. Their words stay and lead nowhere, since the table does not hold the text."""
    database.execute("DELETE FROM messages WHERE file = ?", (file_id,))
    database.execute("DELETE FROM used WHERE file = ?", (file_id,))
