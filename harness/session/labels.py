"""Titles and tags of saved sessions, set by appending a line to the file.

Claude Code's readers show one tag for each session, so several tags share one line, separated by commas.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

from harness.errors import SessionError
from harness.messages import JsonObject
from harness.session.journal import Journal
from harness.session.line_index import scan
from harness.session.records import tag_line, title_line, to_bytes
from harness.session.resume import tags_of

MAX_TITLE_CHARS = 200


def checked_title(title: str) -> str:
    """Return a title on one line, at most `MAX_TITLE_CHARS` long.

    Raises:
        SessionError: It is empty.
    """
    if not (line := " ".join(title.split())):
        raise SessionError("the title is empty; enter at least one character")
    return line if len(line) <= MAX_TITLE_CHARS else f"{line[: MAX_TITLE_CHARS - 1].rstrip()}…"


def parse_tags(text: str) -> tuple[str, ...]:
    """Return the tags in a text, separated by commas or spaces, with or without `#`; each once."""
    tags = (word.strip("#") for word in text.replace(",", " ").split())
    return tuple(dict.fromkeys(filter(None, tags)))


def changed_tags(tags: Sequence[str], add: Iterable[str] = (), remove: Iterable[str] = ()) -> tuple[str, ...]:
    """Return the tags with some added and others removed, ignoring case."""
    removed = {tag.casefold() for tag in remove}
    by_name = {tag.casefold(): tag for tag in (*add, *tags)}
    known = dict.fromkeys(tag.casefold() for tag in (*tags, *add))
    return tuple(by_name[name] for name in known if name not in removed)


def rename_session(path: Path, title: str) -> str:
    """Set the title of a session that is not open; return it.

    Raises:
        SessionLocked: The session is open.
        SessionError: The title is empty, or the file cannot be written.
    """
    title = checked_title(title)
    _append(path, title_line(path.stem, title))
    return title


def tag_session(path: Path, *, add: Iterable[str] = (), remove: Iterable[str] = ()) -> tuple[str, ...]:
    """Change the tags of a session that is not open; return its tags.

    Raises:
        SessionLocked: The session is open.
        SessionError: The file cannot be read or written.
    """
    try:
        before = tags_of(scan(path).others)
    except OSError as error:
        raise SessionError(f"{path} cannot be read: {error.strerror}") from error
    tags = changed_tags(before, add, remove)
    if tags != before:
        _append(path, tag_line(path.stem, tags))
    return tags


def _append(path: Path, line: JsonObject) -> None:
    problems: list[str] = []
    journal = Journal(path, problems.append)
    try:
        journal.acquire()
    except OSError as error:
        raise SessionError(f"{path} cannot be written: {error.strerror}") from error
    journal.append(to_bytes(line))
    journal.close()
    if problems:
        raise SessionError(problems[0])
