"""Fork of a session: its conversation copied to a new session, also from another program's file."""

from __future__ import annotations

import os
import re
import uuid
from collections.abc import Iterable, Iterator
from pathlib import Path

from msgspec.structs import replace

from harness.errors import SessionError
from harness.messages import JsonObject, JsonValue, UserMessage
from harness.session.journal import make_private
from harness.session.line_index import conversation, read_line, scan
from harness.session.notes import CompactionNote, CompactionUndoNote, HeaderNote, Note, RewindNote, RunNote
from harness.session.paths import SUFFIX, checked_id, open_session_file, subagent_files, subagent_path
from harness.session.reading import object_at, parse, text_at, tool_result_of
from harness.session.records import Envelope, automatic_title_line, header_note, tag_line, title_line, to_bytes
from harness.session.resume import LoadedSession, load_session

_LINKS = ("uuid", "parentUuid", "sourceToolAssistantUUID")
_NOTE_LINKS = ("after", "leaf", "first", "last")
_NOTE_LISTS = ("kept", "ids", "pinned", "dropped", "shortened", "truncated")
_FORK = re.compile(r" \(fork(?: (\d+))?\)$")
_TITLE_CHARS = 80


def fork_session(path: Path, new_id: str, folder: Path | None = None, *, at: str = "") -> Path:
    """Copy the conversation, from its root to its last leaf, to a new session, with the files of its subagents.

    The copied lines get new ids, so that readers which merge files by id see two conversations. The old file is
    unchanged and may be in use.

    Args:
        path: Session file to copy.
        new_id: Id of the new session.
        folder: Folder of the new session; None: that of the old one.
        at: Uuid of the last message to copy, a reply with the results of its calls; empty: all.

    Raises:
        SessionMissing, SessionTooNew: The old file cannot be opened.
        SessionError: The conversation is empty or lacks `at`, or the new file exists or cannot be written.
    """
    loaded = load_session(path)
    target = (folder or path.parent) / f"{checked_id(new_id)}{SUFFIX}"
    if not loaded.messages:
        raise SessionError(f"{path} contains no conversation")
    if at and at not in loaded.messages.line_ids():
        raise SessionError(f"session {path.stem} has no message {at}")
    create_session_file(target, _lines(loaded, new_id, at, is_fork=folder in (None, path.parent)))
    for agent_id, records in _subagents(path).items():
        own = (copied_line(record, path.stem, target.stem) for record in records)
        create_session_file(subagent_path(target, agent_id), own)
    return target


def create_session_file(target: Path, lines: Iterable[JsonObject | Note]) -> None:
    """Write a new session file, accessible to its owner only.

    Raises:
        SessionError: The file exists or cannot be written.
    """
    try:
        make_private(target.parent)
        with os.fdopen(os.open(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
            file.writelines(map(to_bytes, lines))
            file.flush()
            os.fsync(file.fileno())
    except OSError as error:
        raise SessionError(f"{target} cannot be written: {error.strerror}") from error


def chain_records(path: Path) -> Iterator[JsonObject]:
    """Yield the parsed lines of the conversation in order, each linked to an earlier one.

    Raises:
        OSError: The file cannot be read.
    """
    layout = scan(path)
    known: set[str] = set()
    before: JsonValue = None
    with open_session_file(path) as file:
        for line in (line for group in conversation(layout) for line in group):
            record = parse(read_line(file, line))
            if record is None:
                continue
            # Lines left out (notes of a program, removed lines) must not break the chain.
            parent = record.get("parentUuid") if line.parent in known else before
            known.add(line.id)
            before = line.id
            yield {**record, "parentUuid": parent}


def _lines(loaded: LoadedSession, new_id: str, at: str, *, is_fork: bool) -> Iterator[JsonObject | Note]:
    branch: set[str] = set()
    for record in _until(chain_records(loaded.path), at):
        if not branch:
            envelope, time = Envelope(new_id, str(loaded.cwd)), text_at(record, "timestamp")
            cache_key = loaded.cache_key or loaded.session_id
            yield header_note(envelope, time, loaded.system, loaded.tools, cache_key)
            yield from _labels(loaded, new_id, is_fork=is_fork)
        branch.add(text_at(record, "uuid"))
        yield copied_line(record, loaded.session_id, new_id)
    for note in loaded.notes:
        place = getattr(note, "after", "") or getattr(note, "leaf", "")
        if not isinstance(note, HeaderNote | RunNote | RewindNote) and (not place or place in branch):
            yield _copied_note(note, new_id)


def _until(records: Iterator[JsonObject], at: str) -> Iterator[JsonObject]:
    """Yield the lines up to `at`, with the rest of its reply and the results of its calls."""
    reply, is_found = "", False
    for record in records:
        message_id = text_at(object_at(record, "message"), "id")
        if is_found and tool_result_of(record) is None and (not message_id or message_id != reply):
            return
        yield record
        reply = message_id or reply
        is_found = is_found or text_at(record, "uuid") == at


def _labels(loaded: LoadedSession, new_id: str, *, is_fork: bool) -> Iterator[JsonObject]:
    """Yield the title, which names a fork as such, and the tags."""
    is_set = any(line.get("type") == "custom-title" for line in loaded.labels)
    if title := _fork_title(loaded.title or _first_prompt(loaded)) if is_fork else loaded.title:
        yield title_line(new_id, title) if is_set else automatic_title_line(new_id, title)
    if loaded.tags:
        yield tag_line(new_id, loaded.tags)


def _fork_title(title: str) -> str:
    forks = _FORK.search(title)
    number = f" {int(forks[1] or 1) + 1}" if forks else ""
    return f"{_FORK.sub('', title)} (fork{number})" if title else ""


def _first_prompt(loaded: LoadedSession) -> str:
    first = loaded.messages[0]
    text = " ".join(first.text.split()) if isinstance(first, UserMessage) else ""
    return text if len(text) <= _TITLE_CHARS else f"{text[:_TITLE_CHARS].rstrip()}…"


def _subagents(path: Path) -> dict[str, Iterable[JsonObject]]:
    """Return the lines of each subagent, by its id; files of earlier versions contain them among the others."""
    found: dict[str, Iterable[JsonObject]] = {**_sidechains(path)}
    for file in subagent_files(path):
        found[file.stem.removeprefix("agent-")] = _records(file)
    return found


def _sidechains(path: Path) -> dict[str, list[JsonObject]]:
    """Return the lines of subagents in a session's file by subagent: its id, or that of its first line."""
    found: dict[str, list[JsonObject]] = {}
    owners: dict[str, str] = {}
    for line in scan(path, is_sidechain=True).lines:
        owners[line.id] = owners.get(line.parent, line.id)
    for record in _records(path) if owners else ():
        if (line_id := text_at(record, "uuid")) in owners:
            found.setdefault(text_at(record, "agentId") or owners[line_id], []).append(record)
    return found


def _records(path: Path) -> Iterator[JsonObject]:
    with open_session_file(path) as file:
        yield from filter(None, map(parse, file))


def copied_line(record: JsonObject, old_id: str, new_id: str) -> JsonObject:
    """Return a line of the conversation for the session `new_id`, with new ids and a reference to its origin."""
    links: JsonObject = {key: _new_link(link, new_id) for key in _LINKS if (link := text_at(record, key))}
    origin: JsonObject = {"sessionId": old_id, "messageUuid": text_at(record, "uuid")}
    return {**record, **links, "sessionId": new_id, "forkedFrom": origin}


def _copied_note(note: Note, new_id: str) -> Note:
    links = {name: _new_link(link, new_id) for name in _NOTE_LINKS if (link := getattr(note, name, ""))}
    if isinstance(note, CompactionNote | CompactionUndoNote):
        # A later note may name it among what it keeps.
        links["id"] = _new_link(note.id, new_id)
    lists = {
        name: tuple(_new_link(link, new_id) for link in getattr(note, name, ()))
        for name in _NOTE_LISTS
        if hasattr(note, name)
    }
    return replace(note, session_id=new_id, **links, **lists)


def _new_link(link: str, new_id: str) -> str:
    return str(uuid.uuid5(uuid.NAMESPACE_OID, f"{new_id}/{link}"))
