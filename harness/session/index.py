"""The sessions on disk: listed, found by id, searched.

A list reads the first and last 64 KiB of each file, as Claude Code's readers do, whatever the file's length.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path

from harness.errors import NoSessionYet, SessionMissing
from harness.lazy_dataclass import dataclass
from harness.messages import JsonObject
from harness.session.journal import is_locked
from harness.session.paths import checked_id, open_session_file, project_dir, projects_dir, session_files
from harness.session.reading import blocks_of, object_at, parse, text_at, time_of
from harness.session.resume import title_of

_WINDOW = 64 * 1024
_SNIPPET = 72
_NEAR = 0.75
_CUT_PROMPT = re.compile(rb'"content":(?:"|\[\{"type":"text","text":")((?:[^"\\]|\\.){1,1200})')


@dataclass(frozen=True, slots=True)
class SessionSummary:
    """`title` is what to call it: its own title or its first prompt. Times are seconds since the epoch."""

    path: Path
    id: str
    title: str
    first_prompt: str
    cwd: str
    branch: str
    created: float
    updated: float
    size: int
    locked: bool


@dataclass(frozen=True, slots=True)
class SearchHit:
    """A place where a text was said, by `user`, `assistant` or a `tool`; `snippet` is one line around it."""

    path: Path
    session_id: str
    role: str
    time: float
    snippet: str


def list_sessions(data_dir: Path, cwd: Path | None, *, limit: int | None = None) -> list[SessionSummary]:
    """The sessions of a folder, or of all folders when `cwd` is None; the one with the newest message first.

    With a `limit`, only so many of the files that were written to last are looked at.
    """
    paths = sorted(_paths(data_dir, cwd), key=_modified, reverse=True)[:limit]
    found = [summary for path in paths if (summary := summarise(path))]
    return sorted(found, key=lambda summary: summary.updated, reverse=True)


def summarise(path: Path) -> SessionSummary | None:
    """What the ends of a file tell; None when it holds no conversation or cannot be read."""
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
    """The file of a session by its id, the beginning of its id, or `latest`; those of `cwd` come first.

    Raises:
        NoSessionYet: `latest` is wanted and the folder has no session.
        SessionMissing: no session has this id, several begin with it, or the folder cannot be read.
    """
    _look_into(project_dir(data_dir, cwd))
    if which == "latest":
        return _latest(data_dir, cwd)
    wanted = checked_id(which).lower()
    for scope in (cwd, None):
        fitting = [path for path in _paths(data_dir, scope) if path.stem.lower().startswith(wanted)]
        exact = [path for path in fitting if path.stem.lower() == wanted]
        if len(exact or fitting) == 1:
            return (exact or fitting)[0]
        if fitting:
            raise SessionMissing(f"several sessions begin with {which}: {', '.join(path.stem for path in fitting[:8])}")
    raise SessionMissing(f"there is no session {which}{_nearest(data_dir, cwd, wanted)}")


def last_message_time(path: Path) -> float:
    """The time of the last message in a file; 0 when it has none or cannot be read."""
    window = _WINDOW
    try:
        with open_session_file(path) as file:
            size = os.fstat(file.fileno()).st_size
            while True:
                file.seek(max(0, size - window))
                time = _last_message_time(_records(file.read()))
                if time or window >= size:
                    return time
                # The last message is longer than that.
                window *= 8
    except OSError:
        return 0.0


def _last_message_time(records: list[JsonObject]) -> float:
    messages = (record for record in reversed(records) if record.get("type") in ("user", "assistant"))
    return next((time for record in messages if (time := time_of(record))), 0.0)


def _latest(data_dir: Path, cwd: Path) -> Path:
    """The session with the newest message: a title that was given later does not count."""
    latest, newest = None, 0.0
    for path in sorted(_paths(data_dir, cwd), key=_modified, reverse=True):
        if _modified(path) < newest:
            # A message is never newer than its file.
            break
        time = last_message_time(path)
        if time > newest:
            latest, newest = path, time
    if latest is None:
        raise NoSessionYet(f"there is no session in {cwd} yet")
    return latest


def _look_into(folder: Path) -> None:
    try:
        next(folder.iterdir(), None)
    except (FileNotFoundError, NotADirectoryError):
        return
    except OSError as error:
        raise SessionMissing(f"the sessions in {folder} cannot be looked at: {error.strerror}") from error


def search_sessions(data_dir: Path, text: str, cwd: Path | None = None, *, limit: int = 50) -> list[SearchHit]:
    """Where a text was said, whatever its case, in the newest sessions first."""
    hits: list[SearchHit] = []
    for path in sorted(_paths(data_dir, cwd), key=_modified, reverse=True) if text else ():
        for hit in _search_file(path, text):
            hits.append(hit)
            if len(hits) == limit:
                return hits
    return hits


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
    """The whole lines in a piece of a file; what is cut at its ends does not parse."""
    return [record for line in window.split(b"\n") if line.startswith(b"{") and (record := parse(line))]


def _first_prompt(records: list[JsonObject]) -> str:
    for record in records:
        if record.get("type") == "user" and not record.get("isMeta") and not record.get("isCompactSummary"):
            said = " ".join(" ".join(text_at(block, "text") for block in blocks_of(record)).split())
            if said and not said.startswith(("<command-", "<local-command-")):
                return _shortened(said)
    return ""


def _cut_prompt(head: bytes) -> str:
    """The beginning of a first prompt that is longer than what was read."""
    line = head.rpartition(b"\n")[2]
    match = _CUT_PROMPT.search(line) if b'"type":"user"' in line[:400] else None
    said = parse(b'{"text":"' + match[1] + b'"}') if match else None
    return _shortened(" ".join(text_at(said, "text").split())) if said else ""


def _shortened(text: str) -> str:
    return text if len(text) <= 200 else text[:200].rstrip() + "…"


def _any(records: list[JsonObject], key: str) -> str:
    return next((text_at(record, key) for record in records if text_at(record, key)), "")


def _nearest(data_dir: Path, cwd: Path, wanted: str) -> str:
    """The session that was probably meant: one whose id differs in a character or so."""
    # Imported here because only a mistake needs it.
    from difflib import get_close_matches

    known = list_sessions(data_dir, cwd) or list_sessions(data_dir, None)
    if not known:
        return "; none has been saved yet"
    beginnings = {each.id[: len(wanted)].lower(): each for each in known}
    near = get_close_matches(wanted, beginnings, n=1, cutoff=_NEAR)
    if not near:
        return "; `cinch sessions list` shows those of this folder"
    found = beginnings[near[0]]
    return f"; did you mean {found.id} ({_shortened(found.title)[:60]})?"


def _search_file(path: Path, text: str) -> Iterator[SearchHit]:
    # Only what JSON writes as it is can be looked for before a line is parsed.
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
        for said in _texts([block]):
            place = said.casefold().find(wanted)
            if place >= 0:
                around = said[max(0, place - _SNIPPET) : place + len(wanted) + _SNIPPET]
                yield SearchHit(path, path.stem, role, time_of(record), " ".join(around.split()))


def _texts(blocks: list[JsonObject]) -> Iterator[str]:
    for block in blocks:
        content = block.get("content")
        yield text_at(block, "text") or text_at(block, "content")
        if isinstance(content, list):
            yield from (text_at(each, "text") for each in content if isinstance(each, dict))
