"""Fork of a session: its conversation copied to a new session, also from another program's file."""

from __future__ import annotations

import os
import uuid
from collections.abc import Iterator
from pathlib import Path

from msgspec.structs import replace

from harness.errors import SessionError
from harness.messages import JsonObject, JsonValue
from harness.session.journal import make_private
from harness.session.line_index import conversation, read_line, scan
from harness.session.notes import HeaderNote, Note, RewindNote, RunNote
from harness.session.paths import SUFFIX, checked_id, open_session_file
from harness.session.reading import parse, text_at
from harness.session.records import Envelope, header_note, title_line, to_bytes
from harness.session.resume import LoadedSession, load_session

_LINKS = ("uuid", "parentUuid", "sourceToolAssistantUUID")
_NOTE_LINKS = ("after", "leaf", "first", "last")
_NOTE_LISTS = ("kept", "ids")


def fork_session(path: Path, new_id: str, folder: Path | None = None) -> Path:
    """Copy the conversation, from its root to its last leaf, to a new session.

    The copied lines get new ids, so that readers which merge files by id see two conversations. The old file is
    unchanged and may be in use.

    Args:
        path: Session file to copy.
        new_id: Id of the new session.
        folder: Folder of the new session; None: that of the old one.

    Raises:
        SessionMissing, SessionTooNew: The old file cannot be opened.
        SessionError: The conversation is empty, or the new file exists or cannot be written.
    """
    loaded = load_session(path)
    target = (folder or path.parent) / f"{checked_id(new_id)}{SUFFIX}"
    if not loaded.messages:
        raise SessionError(f"{path} contains no conversation")
    try:
        make_private(target.parent)
        with os.fdopen(os.open(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
            file.writelines(to_bytes(line) for line in _lines(loaded, new_id))
            file.flush()
            os.fsync(file.fileno())
    except OSError as error:
        raise SessionError(f"{target} cannot be written: {error.strerror}") from error
    return target


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


def _lines(loaded: LoadedSession, new_id: str) -> Iterator[JsonObject | Note]:
    for place, record in enumerate(chain_records(loaded.path)):
        if place == 0:
            yield header_note(Envelope(new_id, str(loaded.cwd)), text_at(record, "timestamp"), loaded.system)
            if loaded.title:
                yield title_line(new_id, f"{loaded.title} (fork)")
        yield _copied(record, loaded.session_id, new_id)
    branch = loaded.messages.line_ids()
    for note in loaded.notes:
        after = getattr(note, "after", "")
        if not isinstance(note, HeaderNote | RunNote | RewindNote) and (not after or after in branch):
            yield _copied_note(note, new_id)


def _copied(record: JsonObject, old_id: str, new_id: str) -> JsonObject:
    links: JsonObject = {key: _new_link(link, new_id) for key in _LINKS if (link := text_at(record, key))}
    origin: JsonObject = {"sessionId": old_id, "messageUuid": text_at(record, "uuid")}
    return {**record, **links, "sessionId": new_id, "forkedFrom": origin}


def _copied_note(note: Note, new_id: str) -> Note:
    links = {name: _new_link(link, new_id) for name in _NOTE_LINKS if (link := getattr(note, name, ""))}
    lists = {
        name: tuple(_new_link(link, new_id) for link in getattr(note, name, ()))
        for name in _NOTE_LISTS
        if hasattr(note, name)
    }
    return replace(note, session_id=new_id, **links, **lists)


def _new_link(link: str, new_id: str) -> str:
    return str(uuid.uuid5(uuid.NAMESPACE_OID, f"{new_id}/{link}"))
