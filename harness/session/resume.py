"""A session read back from its file.

Opening lays the file out and reads nothing of what was said; a message is read when it is asked for, and then kept.
"""

from __future__ import annotations

import os
import weakref
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import overload

from harness.codec import decode
from harness.context.normalise import missing_result
from harness.errors import SessionError, SessionMissing, SessionTooNew
from harness.lazy_dataclass import dataclass
from harness.messages import AssistantMessage, JsonObject, ModelMessage, ModelSpec, ToolResult, Usage
from harness.session.chain import call_lines
from harness.session.line_index import Line, LineIndex, conversation, read_line, scan
from harness.session.paths import open_session_file, session_descriptor
from harness.session.reading import (
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


class SessionMessages(Sequence[ModelMessage]):
    """The messages of a session, each read from disk when it is first looked at.

    The file may be appended to, moved or deleted meanwhile: what was there stays readable. Safe to read from a thread.
    """

    def __init__(self, path: Path, groups: list[tuple[Line, ...]], tool_names: dict[str, str]) -> None:
        self._groups = groups
        self._tool_names = tool_names
        self._read: list[ModelMessage | None] = [None] * len(groups)
        self._fd = session_descriptor(path)
        weakref.finalize(self, os.close, self._fd)
        self.damaged: list[int] = []
        """The numbers of lines that could not be read when their message was looked at."""

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
        """The messages that were looked at, which their file need not have any longer."""
        return [message for message in self._read if message is not None]

    def line_ids(self) -> set[str]:
        return {line.id for group in self._groups for line in group}

    def open_calls(self, start: int = 0) -> Iterator[tuple[ToolResult, str]]:
        """For each call without a result, in the messages from `start` on: the result it lacks, and its line's uuid."""
        messages = self[start:]
        answered = {message.call_id for message in messages if isinstance(message, ToolResult)}
        for group, reply in zip(self._groups[start:], messages, strict=True):
            calls = reply.tool_calls if isinstance(reply, AssistantMessage) else ()
            if unanswered := [call for call in calls if call.id not in answered]:
                lines = call_lines([self._record(line) for line in group])
                for call in unanswered:
                    yield missing_result(reply.id, call, reply.time), lines.get(call.id, group[-1].id)

    def open_calls_at_end(self) -> list[tuple[ToolResult, str]]:
        """The open calls of the last reply, when nothing but results follows it."""
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
            # A line damaged behind its envelope still has its place; its message is empty.
            self.damaged.append(line.number)
        return record or {"uuid": line.id}


@dataclass(frozen=True, slots=True)
class LoadedSession:
    """`last_uuid` is the line that the next one hangs under; `spec` is None where no model of ours was noted.

    `notes` are our own lines outside the conversation."""

    path: Path
    session_id: str
    cwd: Path
    messages: SessionMessages
    last_uuid: str | None
    title: str = ""
    spec: ModelSpec | None = None
    mode: str = ""
    created: float = 0.0
    updated: float = 0.0
    losses: tuple[str, ...] = ()
    run_ids: tuple[str, ...] = ()
    notes: tuple[JsonObject, ...] = ()
    other_usage: tuple[tuple[str, Usage], ...] = ()
    """Usage that no reply carries, each with the name of the model."""

    @property
    def warnings(self) -> tuple[str, ...]:
        """A sentence for each loss that is known: a damaged message only when it has been looked at."""
        return (*self.losses, *map(_unread, dict.fromkeys(self.messages.damaged)))

    @property
    def model_name(self) -> str:
        """`provider/model` as last used; empty when it is not known."""
        return self.spec.name if self.spec else ""


def load_session(path: Path) -> LoadedSession:
    """Open a session file, ours or Claude Code's.

    Raises:
        SessionMissing: there is no such file.
        SessionTooNew: a later cinch wrote it in a format this one does not know.
        SessionError: the system does not let us read it.
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
        run_ids=tuple(_run_ids(layout.notes)),
        notes=tuple(_own(layout.notes)),
        other_usage=tuple(_other_usage(layout.notes, messages.line_ids())),
        created=time_of(first) or modified,
        updated=(messages[-1].time if messages else 0) or modified,
        losses=_losses(layout),
    )


def check_format(notes: list[JsonObject], path: Path) -> None:
    """Refuse what a later version wrote.

    Raises:
        SessionTooNew: the file's own version is above ours.
    """
    for note in notes:
        version = note.get("format") if note.get("type") == "cinch-session" else None
        if isinstance(version, int) and version > FORMAT:
            raise SessionTooNew(
                f"{path} is in session format {version}, this cinch reads up to {FORMAT}; update cinch to open it"
            )


def title_of(notes: list[JsonObject]) -> str:
    """The title a person gave, else a model's, else Claude Code's summary; the last of its kind wins."""
    kinds = (("custom-title", "customTitle"), ("ai-title", "aiTitle"), ("summary", "summary"))
    return next((title for kind, key in kinds if (title := _last(notes, kind, key))), "")


def _last(notes: list[JsonObject], kind: str, key: str) -> str:
    return next((text_at(note, key) for note in reversed(notes) if note.get("type") == kind and text_at(note, key)), "")


def _run_ids(notes: list[JsonObject]) -> Iterator[str]:
    """The runs that were begun, in their order."""
    for note in notes:
        if note.get("type") == "cinch-run" and note.get("phase") == "start":
            yield text_at(note, "loopId")


def _own(notes: list[JsonObject]) -> Iterator[JsonObject]:
    for note in notes:
        kind = text_at(note, "type")
        if kind.startswith("cinch-") or kind == "custom-title":
            yield note


def _other_usage(notes: list[JsonObject], line_ids: set[str]) -> Iterator[tuple[str, Usage]]:
    for note in notes:
        after = text_at(note, "after")
        if note.get("type") == "cinch-usage" and (not after or after in line_ids):
            yield text_at(note, "model"), read_usage(object_at(note, "usage"), note)


def _spec(notes: list[JsonObject]) -> ModelSpec | None:
    for note in reversed(notes):
        if note.get("type") == "cinch-model":
            try:
                return decode(ModelSpec, object_at(note, "spec"))
            except ValueError:
                continue
    return None


def _first_record(path: Path, layout: LineIndex) -> JsonObject:
    """The first line that tells where and when the session began."""
    header = next((note for note in layout.notes if note.get("type") == "cinch-session"), None)
    if header or not layout.lines:
        return header or {}
    line = layout.lines[0]
    with open_session_file(path) as file:
        return parse(read_line(file, line)) or {}


def _unread(number: int) -> str:
    return f"line {number} of the session file cannot be read: what it held is lost"


def _losses(layout: LineIndex) -> tuple[str, ...]:
    """One sentence for each place where part of the conversation, or a line of another kind, is lost."""
    unread = [_unread(number) for number in layout.garbage]
    gaps = [f"before line {number} of the session file at least one message is missing" for number in layout.gaps]
    return (*unread, *gaps)
