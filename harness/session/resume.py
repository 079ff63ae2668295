"""Loading of sessions.

Opening a file only indexes it; a message is read when it is first accessed, and then kept in memory.
"""

from __future__ import annotations

import os
import weakref
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import overload

from msgspec import Struct

from harness.codec import decode_or_none
from harness.context.normalize import missing_result
from harness.errors import SessionError, SessionMissing, SessionTooNew
from harness.messages import AssistantMessage, JsonObject, ModelMessage, ModelSpec, ToolResult, Usage
from harness.session.line_index import Line, LineIndex, conversation, read_line, scan
from harness.session.paths import open_session_file, session_descriptor
from harness.session.reading import (
    call_lines,
    object_at,
    parse,
    read_assistant,
    read_result,
    read_usage,
    read_user,
    text_at,
    time_of,
)
from harness.session.records import FORMAT

_OWN_TYPES = ("cinch-", "custom-title")


class SessionMessages(Sequence[ModelMessage]):
    """Messages of a session, read from disk on first access.

    The file may be appended to, moved or deleted in the meantime. Thread-safe for reading.
    """

    def __init__(self, path: Path, groups: list[tuple[Line, ...]], tool_names: dict[str, str]) -> None:
        self._groups = groups
        self._tool_names = tool_names
        self._read: list[ModelMessage | None] = [None] * len(groups)
        self._fd = session_descriptor(path)
        weakref.finalize(self, os.close, self._fd)
        self.damaged: list[int] = []
        """Numbers of lines that turned out to be unreadable on access."""

    def __len__(self) -> int:
        return len(self._groups)

    @overload
    def __getitem__(self, index: int) -> ModelMessage: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[ModelMessage, ...]: ...
    def __getitem__(self, index: int | slice) -> ModelMessage | tuple[ModelMessage, ...]:
        if isinstance(index, slice):
            return tuple(self[place] for place in range(*index.indices(len(self))))
        message = self._read[index]
        if message is None:
            message = self._read[index] = self._load(self._groups[index])
        return message

    @property
    def in_memory(self) -> list[ModelMessage]:
        """Messages that were accessed, which their file may no longer contain."""
        return [message for message in self._read if message is not None]

    def line_ids(self) -> set[str]:
        return {line.id for group in self._groups for line in group}

    def open_calls(self, start: int = 0) -> Iterator[tuple[ToolResult, str]]:
        """Yield the missing result of each open call from `start` on, with the uuid of the call's line."""
        messages = self[start:]
        answered = {message.call_id for message in messages if isinstance(message, ToolResult)}
        for group, reply in zip(self._groups[start:], messages, strict=True):
            calls = reply.tool_calls if isinstance(reply, AssistantMessage) else ()
            if unanswered := [call for call in calls if call.id not in answered]:
                lines = call_lines(map(self._record, group))
                for call in unanswered:
                    yield missing_result(reply.id, call, reply.time), lines.get(call.id, group[-1].id)

    def open_calls_at_end(self) -> list[tuple[ToolResult, str]]:
        """Return the open calls of the last reply, if only results follow it."""
        start = len(self) - 1
        while start > 0 and isinstance(self[start], ToolResult):
            start -= 1
        return list(self.open_calls(max(start, 0)))

    def _load(self, group: tuple[Line, ...]) -> ModelMessage:
        records = [self._record(line) for line in group]
        if group[0].kind == "assistant":
            return read_assistant(records)
        return read_result(records[0], self._tool_names) if group[0].is_result else read_user(records[0])

    def _record(self, line: Line) -> JsonObject:
        record = parse(os.pread(self._fd, line.size, line.offset))
        if record is None:
            # A line damaged after its envelope keeps its place; its message is empty.
            self.damaged.append(line.number)
        return record or {"uuid": line.id}


class LoadedSession(Struct, frozen=True):
    """A session as loaded from its file."""

    path: Path
    """The file."""
    session_id: str
    """Id of the session."""
    cwd: Path
    """Folder the session was started in."""
    messages: SessionMessages
    """Messages of the conversation."""
    last_uuid: str | None
    """Uuid of the line that the next one links to; None if there is no message."""
    title: str = ""
    """Title; empty if it has none."""
    spec: ModelSpec | None = None
    """Model that was used last; None if none is recorded."""
    mode: str = ""
    """Mode at the end; empty if none is recorded."""
    created: float = 0.0
    """Start of the session, in seconds since the epoch."""
    updated: float = 0.0
    """Time of the last message, in seconds since the epoch."""
    losses: tuple[str, ...] = ()
    """Descriptions of lost parts that are known from the index."""
    run_ids: tuple[str, ...] = ()
    """Ids of its runs, in order."""
    notes: tuple[JsonObject, ...] = ()
    """Our own lines outside the conversation."""
    other_usage: tuple[tuple[str, Usage], ...] = ()
    """Usage that belongs to no reply, each with the name of the model."""

    @property
    def warnings(self) -> tuple[str, ...]:
        """Descriptions of all known losses; a damaged message is known once it was accessed."""
        return (*self.losses, *map(_unread, dict.fromkeys(self.messages.damaged)))

    @property
    def model_name(self) -> str:
        """Model that was used last as `provider/model`; empty if unknown."""
        return self.spec.name if self.spec else ""


def load_session(path: Path) -> LoadedSession:
    """Open a session file, ours or Claude Code's.

    Raises:
        SessionMissing: The file does not exist.
        SessionTooNew: A later version of cinch wrote it in an unknown format.
        SessionError: The file cannot be read.
    """
    try:
        layout = scan(path)
        messages = SessionMessages(path, conversation(layout), layout.tool_names)
        first, modified = _first_record(path, layout), path.stat().st_mtime
    except FileNotFoundError as error:
        raise SessionMissing(f"{path} does not exist") from error
    except OSError as error:
        raise SessionError(f"{path} cannot be read: {error.strerror}") from error
    check_format(layout.notes, path)
    return LoadedSession(
        path,
        path.stem,
        Path(text_at(first, "cwd") or "."),
        messages,
        layout.leaf.id if layout.leaf else None,
        title=title_of(layout.notes),
        spec=_spec(layout.notes),
        mode=_last(layout.notes, "cinch-mode", "mode"),
        run_ids=tuple(text_at(note, "loopId") for note in layout.notes if _starts_run(note)),
        notes=tuple(note for note in layout.notes if text_at(note, "type").startswith(_OWN_TYPES)),
        other_usage=tuple(_other_usage(layout.notes, messages.line_ids())),
        created=time_of(first) or modified,
        updated=(messages[-1].time if messages else 0) or modified,
        losses=_losses(layout),
    )


def check_format(notes: list[JsonObject], path: Path) -> None:
    """Reject files of a later version.

    Raises:
        SessionTooNew: The format version of the file is higher than ours.
    """
    for note in notes:
        version = note.get("format") if note.get("type") == "cinch-session" else None
        if isinstance(version, int) and version > FORMAT:
            raise SessionTooNew(
                f"{path} is in session format {version}, this cinch reads up to {FORMAT}; update cinch to open it"
            )


def title_of(notes: list[JsonObject]) -> str:
    """Return the title set by the user, else by a model, else Claude Code's summary; the last of its kind counts."""
    kinds = (("custom-title", "customTitle"), ("ai-title", "aiTitle"), ("summary", "summary"))
    return next((title for kind, key in kinds if (title := _last(notes, kind, key))), "")


def _last(notes: list[JsonObject], kind: str, key: str) -> str:
    return next((text_at(note, key) for note in reversed(notes) if note.get("type") == kind and text_at(note, key)), "")


def _starts_run(note: JsonObject) -> bool:
    return note.get("type") == "cinch-run" and note.get("phase") == "start"


def _other_usage(notes: list[JsonObject], line_ids: set[str]) -> Iterator[tuple[str, Usage]]:
    for note in notes:
        after = text_at(note, "after")
        if note.get("type") == "cinch-usage" and (not after or after in line_ids):
            yield text_at(note, "model"), read_usage(object_at(note, "usage"), note)


def _spec(notes: list[JsonObject]) -> ModelSpec | None:
    chosen = (note.get("spec") for note in reversed(notes) if note.get("type") == "cinch-model")
    return next((spec for each in chosen if (spec := decode_or_none(ModelSpec, each))), None)


def _first_record(path: Path, layout: LineIndex) -> JsonObject:
    """Return the first line that records folder and start of the session."""
    header = next((note for note in layout.notes if note.get("type") == "cinch-session"), None)
    if header or not layout.lines:
        return header or {}
    line = layout.lines[0]
    with open_session_file(path) as file:
        return parse(read_line(file, line)) or {}


def _unread(number: int) -> str:
    return f"line {number} of the session file cannot be read; its content is lost"


def _losses(layout: LineIndex) -> tuple[str, ...]:
    """Return a description of each place where a line is lost."""
    unread = [_unread(number) for number in layout.garbage]
    gaps = [f"before line {number} of the session file at least one message is missing" for number in layout.gaps]
    return (*unread, *gaps)
