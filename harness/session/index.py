"""Index of the sessions on disk: list, find by id, search.

Listing reads the first and last 64 KiB of each file, as Claude Code's readers do, whatever its size.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

from msgspec import Struct

from harness.errors import NoSessionYet, SessionMissing
from harness.messages import JsonObject
from harness.session.journal import is_locked
from harness.session.paths import checked_id, open_session_file, project_dir, projects_dir, session_files
from harness.session.reading import blocks_of, object_at, parse, text_at, time_of
from harness.session.resume import title_of

_WINDOW = 64 * 1024
_SNIPPET = 72
_NEAR = 0.75
_CUT_PROMPT = re.compile(rb'"content":(?:"|\[\{"type":"text","text":")((?:[^"\\]|\\.){1,1200})')


class SessionSummary(Struct, frozen=True):
    """Summary of a session file."""

    path: Path
    """The file."""
    id: str
    """Id of the session."""
    title: str
    """Title, or the first prompt if it has none."""
    first_prompt: str
    """First prompt, shortened."""
    cwd: str
    """Folder the session was started in."""
    branch: str
    """Git branch at the end."""
    created: float
    """Start, in seconds since the epoch."""
    updated: float
    """Time of the last message, in seconds since the epoch."""
    size: int
    """Size of the file in bytes."""
    locked: bool
    """True if a process is writing to it."""


class SearchHit(Struct, frozen=True):
    """A message that contains the searched text."""

    path: Path
    """The session file."""
    session_id: str
    """Id of the session."""
    role: str
    """`user`, `assistant` or `tool`."""
    time: float
    """Time of the message, in seconds since the epoch."""
    snippet: str
    """Text around the match, on one line."""


def list_sessions(data_dir: Path, cwd: Path | None, *, limit: int | None = None) -> list[SessionSummary]:
    """List the sessions of a folder, or of all folders if `cwd` is None, the one with the newest message first.

    A `limit` restricts the list to the most recently modified files.
    """
    paths = sorted(_paths(data_dir, cwd), key=_modified, reverse=True)[:limit]
    found = [summary for path in paths if (summary := summarize(path))]
    return sorted(found, key=lambda summary: summary.updated, reverse=True)


def summarize(path: Path) -> SessionSummary | None:
    """Return the summary of a session file; None if it contains no conversation or cannot be read."""
    try:
        stat = path.stat()
        head, tail = _ends(path, stat.st_size)
    except OSError:
        return None
    first, last = _records(head), _records(tail)
    prompt = _first_prompt(first) or _cut_prompt(head)
    title = title_of(last) or title_of(first) or prompt
    if not title or (first and first[0].get("isSidechain") is True):
        return None
    return SessionSummary(
        path,
        path.stem,
        title,
        prompt,
        cwd=_any(first, "cwd"),
        branch=_any(last[::-1], "gitBranch") or _any(first, "gitBranch"),
        created=next((time for record in first if (time := time_of(record))), stat.st_mtime),
        updated=_last_message_time(last) or last_message_time(path) or stat.st_mtime,
        size=stat.st_size,
        locked=is_locked(path),
    )


def find_session(data_dir: Path, cwd: Path, which: str) -> Path:
    """Find a session by its id, a prefix of its id, or `latest`; sessions of `cwd` take precedence.

    Raises:
        NoSessionYet: `latest` was requested and the folder has no session.
        SessionMissing: No session has this id, several start with it, or the folder cannot be read.
    """
    _check_readable(project_dir(data_dir, cwd))
    if which == "latest":
        return _latest(data_dir, cwd)
    wanted = checked_id(which).lower()
    for scope in (cwd, None):
        matching = [path for path in _paths(data_dir, scope) if path.stem.lower().startswith(wanted)]
        exact = [path for path in matching if path.stem.lower() == wanted]
        if len(exact or matching) == 1:
            return (exact or matching)[0]
        if matching:
            found = ", ".join(path.stem for path in matching[:8])
            raise SessionMissing(f"several sessions start with {which}: {found}")
    raise SessionMissing(f"session {which} not found{_nearest(data_dir, cwd, wanted)}")


def last_message_time(path: Path) -> float:
    """Return the time of the last message in a file; 0 if it has none or cannot be read."""
    window = _WINDOW
    try:
        with open_session_file(path) as file:
            size = os.fstat(file.fileno()).st_size
            while True:
                file.seek(max(0, size - window))
                time = _last_message_time(_records(file.read()))
                if time or window >= size:
                    return time
                # The last message exceeds the window.
                window *= 8
    except OSError:
        return 0.0


def _last_message_time(records: list[JsonObject]) -> float:
    messages = (record for record in reversed(records) if record.get("type") in ("user", "assistant"))
    return next((time for record in messages if (time := time_of(record))), 0.0)


def _latest(data_dir: Path, cwd: Path) -> Path:
    """Return the session with the newest message; a title that was set later does not count."""
    latest, newest = None, 0.0
    for path in sorted(_paths(data_dir, cwd), key=_modified, reverse=True):
        if _modified(path) < newest:
            # A message is never newer than its file.
            break
        time = last_message_time(path)
        if time > newest:
            latest, newest = path, time
    if latest is None:
        raise NoSessionYet(f"no sessions in {cwd} yet")
    return latest


def _check_readable(folder: Path) -> None:
    try:
        next(folder.iterdir(), None)
    except (FileNotFoundError, NotADirectoryError):
        return
    except OSError as error:
        raise SessionMissing(f"cannot read the sessions in {folder}: {error.strerror}") from error


def search_sessions(data_dir: Path, text: str, cwd: Path | None = None, *, limit: int = 50) -> list[SearchHit]:
    """Search all messages for a text, ignoring case; most recently modified sessions first."""
    paths = sorted(_paths(data_dir, cwd), key=_modified, reverse=True) if text else ()
    return list(islice((hit for path in paths for hit in _search_file(path, text)), limit))


def _paths(data_dir: Path, cwd: Path | None) -> list[Path]:
    if cwd is not None:
        return session_files(project_dir(data_dir, cwd))
    try:
        return [path for folder in projects_dir(data_dir).iterdir() for path in session_files(folder)]
    except OSError:
        return []


def _modified(path: Path) -> float:
    try:
        return path.stat().st_mtime
    except OSError:
        return 0.0


def _ends(path: Path, size: int) -> tuple[bytes, bytes]:
    with open_session_file(path) as file:
        head = file.read(_WINDOW)
        if size <= _WINDOW:
            return head, head
        file.seek(-_WINDOW, 2)
        return head, file.read(_WINDOW)


def _records(window: bytes) -> list[JsonObject]:
    """Return the complete lines in a part of a file; truncated lines do not parse."""
    return [record for line in window.split(b"\n") if line.startswith(b"{") and (record := parse(line))]


def _first_prompt(records: list[JsonObject]) -> str:
    for record in records:
        if record.get("type") == "user" and not record.get("isMeta") and not record.get("isCompactSummary"):
            text = " ".join(" ".join(text_at(block, "text") for block in blocks_of(record)).split())
            if text and not text.startswith(("<command-", "<local-command-")):
                return _shortened(text)
    return ""


def _cut_prompt(head: bytes) -> str:
    """Return the beginning of a first prompt that is longer than the window."""
    line = head.rpartition(b"\n")[2]
    match = _CUT_PROMPT.search(line) if b'"type":"user"' in line[:400] else None
    prompt = parse(b'{"text":"' + match[1] + b'"}') if match else None
    return _shortened(" ".join(text_at(prompt, "text").split())) if prompt else ""


def _shortened(text: str) -> str:
    return text if len(text) <= 200 else text[:200].rstrip() + "…"


def _any(records: list[JsonObject], key: str) -> str:
    return next((text_at(record, key) for record in records if text_at(record, key)), "")


def _nearest(data_dir: Path, cwd: Path, wanted: str) -> str:
    """Suggest the session whose id differs least."""
    # Imported late: only a mistake needs it.
    from difflib import get_close_matches

    known = list_sessions(data_dir, cwd) or list_sessions(data_dir, None)
    if not known:
        return "; no sessions have been saved yet"
    prefixes = {each.id[: len(wanted)].lower(): each for each in known}
    near = get_close_matches(wanted, prefixes, n=1, cutoff=_NEAR)
    if not near:
        return "; run `cinch sessions list` to see those of this folder"
    found = prefixes[near[0]]
    return f"; did you mean {found.id} ({_shortened(found.title)[:60]})?"


def _search_file(path: Path, text: str) -> Iterator[SearchHit]:
    # Only text that JSON does not escape can be searched before a line is parsed.
    is_plain = text.isascii() and text.isprintable() and not set(text) & {'"', "\\"}
    plain, wanted = text.lower().encode() if is_plain else None, text.casefold()
    try:
        with open_session_file(path) as file:
            for line in file:
                if (plain is None or plain in line.lower()) and (record := parse(line)):
                    yield from _search_line(path, record, wanted)
    except OSError:
        return


def _search_line(path: Path, record: JsonObject, wanted: str) -> Iterator[SearchHit]:
    if record.get("type") not in ("user", "assistant") or record.get("isSidechain") is True:
        return
    if object_at(record, "cinch").get("closing") is True:
        return
    for block in blocks_of(record):
        role = "tool" if block.get("type") == "tool_result" else text_at(record, "type")
        for text in _texts(block):
            place = text.casefold().find(wanted)
            if place >= 0:
                around = text[max(0, place - _SNIPPET) : place + len(wanted) + _SNIPPET]
                yield SearchHit(path, path.stem, role, time_of(record), " ".join(around.split()))


def _texts(block: JsonObject) -> Iterator[str]:
    content = block.get("content")
    yield text_at(block, "text") or text_at(block, "content")
    if isinstance(content, list):
        yield from (text_at(each, "text") for each in content if isinstance(each, dict))
