"""Full-text search over all sessions.

The index gives the matches, ranked; their text is read from the files. Without a complete index, as before its first
update or in a read-only folder, all files are read instead, the newest first.

Source: https://www.sqlite.org/fts5.html (query syntax, bm25).
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from contextlib import suppress
from itertools import islice
from operator import attrgetter
from pathlib import Path

from msgspec import Struct

from harness.messages import JsonObject
from harness.session.database import database_path, is_built, session_database
from harness.session.paths import SessionFile, find_files, open_session_file, project_dir, projects_dir
from harness.session.reading import blocks_of, parse, text_at, time_of
from harness.session.search_index import calls_of, facts_of, is_message, spaced, texts_of, tool_of
from harness.session.summary import reply_id

_SNIPPET = 72
_RANKED = 5_000
_LETTER = re.compile(r"[^\W_]")
_TERM = re.compile(r'"([^"]+)"|(\S+)')


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
    """Name of the tool that the message calls or whose result it is."""
    file: str = ""
    """File that a tool of the session was given, or the end of its path."""


class SearchHit(Struct, frozen=True):
    """A message that contains the searched text."""

    path: Path
    """The session file."""
    session_id: str
    """Id of the session."""
    message_id: str
    """Id of the message: the uuid of its first line, in sessions of Claude Code of any of its lines."""
    number: int
    """Number of the message in the file, from 1, of all branches; 0 if the index does not exist."""
    role: str
    """`user`, `assistant` or `tool`."""
    time: float
    """Time of the message, in seconds since the epoch."""
    snippet: str
    """Text around the match, on one line."""


def search_sessions(data_dir: Path, query: SearchQuery, limit: int = 50) -> list[SearchHit]:
    """Return the best matches, ranked by bm25, without what was written since the last update of the index.

    Of a frequent word the latest 5,000 matches are ranked. Without an index the latest matches are returned.

    Args:
        data_dir: Folder of all sessions.
        query: Text and filters.
        limit: Largest number of matches.
    """
    terms = _terms(query.text)
    if not terms:
        return []
    expression = _match_expression(query.text)
    if expression and database_path(data_dir).exists():
        with suppress(OSError), session_database(data_dir) as database:
            if is_built(database):
                rows = database.execute(*_statement(data_dir, query, expression, limit)).fetchall()
                projects = projects_dir(data_dir)
                hits = (_hit(projects / key, place, size, number, terms) for key, place, size, number in rows)
                return [hit for hit in hits if hit]
    files = sorted(find_files(data_dir, query.cwd), key=attrgetter("modified"), reverse=True)
    return list(islice((hit for file in files for hit in _search_file(file, query, terms)), limit))


def _terms(text: str) -> list[str]:
    """Return the words and phrases of a query."""
    return [found[1] or found[2] for found in _TERM.finditer(text)]


def _match_expression(text: str) -> str:
    """Return an FTS5 expression: all words and phrases, the last word as a prefix; empty if it has no letters."""
    found = [match for match in _TERM.finditer(text) if _LETTER.search(match[0])]
    terms = [spaced(re.sub(r'["\0]', " ", match[1] or match[2])) for match in found]
    expression = " ".join(f'"{term}"' for term in terms).encode(errors="replace").decode()
    return f"{expression}*" if found and found[-1][2] else expression


def _statement(data_dir: Path, query: SearchQuery, expression: str, limit: int) -> tuple[str, list[str | float | int]]:
    conditions, values = ["words MATCH ?"], list[str | float | int]([expression])
    for condition, value in (
        ("substr(f.path, 1, instr(f.path, '/') - 1) = ?", project_dir(data_dir, query.cwd).name if query.cwd else ""),
        ("m.time >= ?", query.since),
        ("m.time <= ?", query.until),
        ("f.id IN (SELECT file FROM used WHERE kind = 'model' AND instr(lower(value), lower(?)))", query.model),
        ("lower(m.tool) = lower(?)", query.tool),
        (
            "f.id IN (SELECT file FROM used, (SELECT '/' || ? AS end) "
            "WHERE kind = 'file' AND substr('/' || value, -length(end)) = end)",
            query.file,
        ),
    ):
        if value:
            conditions.append(condition)
            values.append(value)
    # Ranking takes time for every match, so of a frequent word only the latest matches are ranked.
    return (
        "SELECT path, place, size, number FROM ("
        "SELECT f.path, m.place, m.size, m.number, m.time, bm25(words) AS score "
        "FROM words CROSS JOIN messages m ON m.id = words.rowid CROSS JOIN files f ON f.id = m.file "
        f"WHERE {' AND '.join(conditions)} ORDER BY words.rowid DESC LIMIT {_RANKED}"
        ") ORDER BY score, time DESC LIMIT ?",
        [*values, limit],
    )


def _hit(path: Path, place: int, size: int, number: int, terms: Sequence[str]) -> SearchHit | None:
    """Return the match at a place of a file; None if the file has changed there."""
    try:
        with open_session_file(path) as file:
            record = parse(os.pread(file.fileno(), size, place))
    except OSError:
        return None
    return _as_hit(path, record, number, terms) if record else None


def _as_hit(path: Path, record: JsonObject, number: int, terms: Sequence[str]) -> SearchHit:
    is_tool = any(block.get("type") in ("tool_result", "tool_use") for block in blocks_of(record))
    return SearchHit(
        path,
        path.stem,
        # Of our replies, the id of the message; other lines have their own.
        reply_id(record) if "cinch" in record and reply_id(record) else text_at(record, "uuid"),
        number,
        "tool" if is_tool else text_at(record, "type"),
        time_of(record),
        _snippet("\n".join(texts_of(record)), terms),
    )


def _snippet(body: str, terms: Sequence[str]) -> str:
    """Return the text around the first term on one line."""
    matches = (re.search(re.escape(term), body, re.IGNORECASE) for term in terms)
    places = [match.start() for match in matches if match]
    start = max(0, min(places, default=0) - _SNIPPET)
    end = start + 3 * _SNIPPET
    text = " ".join(body[start:end].split())
    return f"{'…' if start else ''}{text}{'…' if end < len(body) else ''}"


def _search_file(file: SessionFile, query: SearchQuery, terms: Sequence[str]) -> Iterator[SearchHit]:
    """Search a file without the index: for messages that contain all terms, ignoring case."""
    if file.modified / 1e9 < query.since:
        return
    path, tools, wanted = Path(file.path), dict[str, str](), [term.casefold() for term in terms]
    # The names of tools are in other lines than some results.
    plain = [] if query.tool else [term.lower().encode() for term in terms if _is_plain(term)]
    with suppress(OSError):
        if not _uses(path, query):
            return
        for record in _records(path, plain):
            tools.update(calls_of(record))
            if is_message(record) and _matches(record, query, wanted, tools):
                yield _as_hit(path, record, 0, terms)


def _is_plain(term: str) -> bool:
    """Return True for text that JSON does not escape, which can be searched before a line is parsed."""
    return term.isascii() and term.isprintable() and not set(term) & {'"', "\\", "/"}


def _records(path: Path, plain: Sequence[bytes] = ()) -> Iterator[JsonObject]:
    """Yield the lines of a file that contain these texts."""
    with open_session_file(path) as source:
        for line in source:
            lowered = line.lower() if plain else b""
            if all(term in lowered for term in plain) and (record := parse(line)):
                yield record


def _uses(path: Path, query: SearchQuery) -> bool:
    """Return True if a session uses the model and the file of a query."""
    if not query.model and not query.file:
        return True
    used = {fact for record in _records(path) if is_message(record) for fact in facts_of(record)}
    models = [value.lower() for kind, value in used if kind == "model"]
    files = [f"/{value}" for kind, value in used if kind == "file"]
    has_model = any(query.model.lower() in model for model in models)
    has_file = any(file.endswith(f"/{query.file}") for file in files)
    return (has_model or not query.model) and (has_file or not query.file)


def _matches(record: JsonObject, query: SearchQuery, wanted: Sequence[str], tools: dict[str, str]) -> bool:
    if query.tool and tool_of(record, tools).lower() != query.tool.lower():
        return False
    time = time_of(record)
    if time < query.since or (query.until and time > query.until):
        return False
    body = "\n".join(texts_of(record)).casefold()
    return all(term in body for term in wanted)
