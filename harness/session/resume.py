"""Loading of sessions.

Opening a file only indexes it; a message is read when it is first accessed, and then kept in memory.
"""

from __future__ import annotations

import os
import weakref
from collections.abc import Iterable, Iterator, Sequence, Set
from pathlib import Path
from typing import TypeVar, overload

from msgspec import Struct

from harness.codec import decode_or_none
from harness.context.normalize import DID_NOT_RUN, MAY_HAVE_RUN, NO_RESULT, missing_result
from harness.errors import SessionError, SessionMissing, SessionTooNew
from harness.messages import (
    AssistantMessage,
    CustomMessage,
    JsonObject,
    Message,
    ModelMessage,
    ModelSpec,
    ToolResult,
    Usage,
    new_id,
)
from harness.session.line_index import Line, LineIndex, conversation, scan
from harness.session.notes import (
    FORMAT,
    AnyNote,
    CallNote,
    CheckpointNote,
    CompactionNote,
    CustomNote,
    EvictionNote,
    HeaderNote,
    ModelNote,
    ModeNote,
    RunNote,
    UsageNote,
)
from harness.session.paths import SUFFIX, is_subagent_file, session_descriptor
from harness.session.reading import (
    call_lines,
    iso_time,
    parse,
    read_assistant,
    read_result,
    read_usage,
    read_user,
    text_at,
)

N = TypeVar("N", bound=AnyNote)

_LABELS = ("custom-title", "ai-title", "tag")


class SessionMessages(Sequence[Message]):
    """Messages of a session, read on first access from its file, or from the content of one.

    The file may be appended to, moved or deleted in the meantime. Thread-safe for reading.
    """

    def __init__(self, source: Path | bytes, layout: LineIndex) -> None:
        customs = [note for note in layout.notes if isinstance(note, CustomNote)]
        self._groups: list[tuple[Line, ...]] = []
        self._read: list[Message | None] = []
        for group, custom in _with_customs(conversation(layout), customs):
            self._groups.append(group)
            self._read.append(custom)
        self._tool_names = layout.tool_names
        self._started = {note.call_id for note in layout.notes if isinstance(note, CallNote)}
        self._records_calls = any(note.records_calls for note in layout.notes if isinstance(note, HeaderNote))
        self._missing: list[tuple[ToolResult, str]] | None = None
        self._source = source if isinstance(source, bytes) else session_descriptor(source)
        if isinstance(self._source, int):
            weakref.finalize(self, os.close, self._source)
        self.damaged: list[int] = []
        """Numbers of lines that turned out to be unreadable on access."""

    def __len__(self) -> int:
        return len(self._groups)

    @overload
    def __getitem__(self, index: int) -> Message: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[Message, ...]: ...
    def __getitem__(self, index: int | slice) -> Message | tuple[Message, ...]:
        if isinstance(index, slice):
            return tuple(self[place] for place in range(*index.indices(len(self))))
        message = self._read[index]
        if message is None:
            message = self._read[index] = self._load(self._groups[index])
        return message

    @property
    def in_memory(self) -> list[ModelMessage]:
        """Messages that were accessed, which their file may no longer contain."""
        return [message for message in self._read if message is not None and not isinstance(message, CustomMessage)]

    def without(self, ids: Set[str]) -> Iterator[Message]:
        """Yield the messages whose ids are not among `ids`; no others are read."""
        return (self[index] for index, group in enumerate(self._groups) if group and group[0].id not in ids)

    def index_of(self, line_id: str) -> int:
        """Return the index of the message with a line; the number of messages if there is none."""
        places = (place for place, group in enumerate(self._groups) if any(line.id == line_id for line in group))
        return next(places, len(self))

    def line_ids(self) -> set[str]:
        return {line.id for group in self._groups for line in group}

    def positions(self) -> dict[str, int]:
        """Return the index of the message of each line, by the line's uuid."""
        return {line.id: index for index, group in enumerate(self._groups) for line in group}

    def open_calls(self, start: int = 0) -> Iterator[tuple[ToolResult, str]]:
        """Yield the missing result of each open call from `start` on, with the uuid of the call's line."""
        messages = self[start:]
        answered = {message.call_id for message in messages if isinstance(message, ToolResult)}
        for group, reply in zip(self._groups[start:], messages, strict=True):
            calls = reply.tool_calls if isinstance(reply, AssistantMessage) else ()
            if unanswered := [call for call in calls if call.id not in answered]:
                lines = call_lines(map(self._record, group))
                for call in unanswered:
                    missing = missing_result(reply.id, call, reply.time, self._why_open(call.id))
                    yield missing, lines.get(call.id, group[-1].id)

    def missing_results(self) -> list[tuple[ToolResult, str]]:
        """Return what `open_calls` yields for the whole conversation."""
        if self._missing is None:
            self._missing = list(self.open_calls())
        return self._missing

    def raw_line(self, line_id: str) -> JsonObject | None:
        """Return a line of the conversation; None if it cannot be read."""
        lines = (line for group in reversed(self._groups) for line in group if line.id == line_id)
        line = next(lines, None)
        return self.parsed(line) if line else None

    def open_calls_at_end(self) -> list[tuple[ToolResult, str]]:
        """Return the open calls of the last reply, if only results follow it."""
        start = len(self) - 1
        while start > 0 and isinstance(self[start], ToolResult):
            start -= 1
        return list(self.open_calls(max(start, 0)))

    def completed(self) -> list[Message]:
        """Return the messages with a result for every open call, directly after its reply."""
        missing: dict[str, list[ToolResult]] = {}
        for result, _ in self.missing_results():
            missing.setdefault(result.call_id, []).append(result)
        complete: list[Message] = []
        for message in self:
            complete.append(message)
            if isinstance(message, AssistantMessage):
                complete += [missing[call.id].pop(0) for call in message.tool_calls if missing.get(call.id)]
        return complete

    def _why_open(self, call_id: str) -> str:
        """Return the result of a call that has none; sessions of earlier versions do not record which calls began."""
        if call_id in self._started:
            return MAY_HAVE_RUN
        return DID_NOT_RUN if self._records_calls else NO_RESULT

    def _load(self, group: tuple[Line, ...]) -> Message:
        records = [self._record(line) for line in group]
        if group[0].kind == "assistant":
            return read_assistant(records)
        return read_result(records[0], self._tool_names) if group[0].is_result else read_user(records[0])

    def parsed(self, line: Line) -> JsonObject | None:
        """Return a line of the conversation; None if it cannot be read."""
        source = self._source
        if isinstance(source, bytes):
            return parse(source[line.offset : line.offset + line.size])
        return parse(os.pread(source, line.size, line.offset))

    def _record(self, line: Line) -> JsonObject:
        record = self.parsed(line)
        if record is None:
            # A line damaged after its envelope keeps its place; its message is empty.
            self.damaged.append(line.number)
        return record or {"uuid": line.id}


class LoadedSession(Struct, frozen=True):
    """A session as loaded from its file or a store."""

    path: Path
    """The file; of a session in a store, only the name it would have."""
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
    system: str = ""
    """System prompt of its requests; empty if none is recorded."""
    compactions: tuple[CompactionNote, ...] = ()
    """Summaries that replace messages in the context, in order."""
    evicted: frozenset[str] = frozenset()
    """Ids of messages whose content the context replaces by a stub."""
    checkpoints: tuple[CheckpointNote, ...] = ()
    """Places to which the conversation can be rewound, in order."""
    notes: tuple[AnyNote, ...] = ()
    """Our own lines outside the conversation."""
    labels: tuple[JsonObject, ...] = ()
    """Lines with its titles and tags."""
    other_usage: tuple[tuple[str, Usage], ...] = ()
    """Usage that belongs to no reply, each with the name of the model."""

    @property
    def tags(self) -> tuple[str, ...]:
        """Tags of the session."""
        return tags_of(self.labels)

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
        layout = scan(path, is_sidechain=is_subagent_file(path))
        return _loaded(path, path.stem, layout, SessionMessages(path, layout), path.stat().st_mtime)
    except FileNotFoundError as error:
        raise SessionMissing(f"{path} does not exist") from error
    except OSError as error:
        raise SessionError(f"{path} cannot be read: {error.strerror}") from error


def read_session(session_id: str, data: bytes) -> LoadedSession:
    """Load a session from the content of its file, such as a store returns it.

    Raises:
        SessionTooNew: A later version of cinch wrote it in an unknown format.
    """
    layout = scan(data)
    return _loaded(Path(f"{session_id}{SUFFIX}"), session_id, layout, SessionMessages(data, layout), 0.0)


def _loaded(
    path: Path, session_id: str, layout: LineIndex, messages: SessionMessages, modified: float
) -> LoadedSession:
    check_format(layout, path)
    cwd, created = _origin(messages, layout)
    notes, line_ids = tuple(layout.notes), messages.line_ids()
    here = [note for note in notes if not getattr(note, "after", "") or getattr(note, "after", "") in line_ids]
    return LoadedSession(
        path,
        session_id,
        Path(cwd or "."),
        messages,
        layout.leaf.id if layout.leaf else None,
        title=title_of(layout.others),
        spec=_spec(notes),
        mode=next((note.mode for note in reversed(_of(ModeNote, notes))), ""),
        run_ids=tuple(note.loop_id for note in _of(RunNote, notes) if note.phase == "start"),
        system=next((note.system for note in reversed(_of(HeaderNote, notes)) if note.system), ""),
        compactions=tuple(_of(CompactionNote, here)),
        evicted=frozenset(each for note in _of(EvictionNote, here) for each in note.ids),
        checkpoints=tuple(_of(CheckpointNote, notes)),
        notes=notes,
        labels=tuple(other for other in layout.others if other.get("type") in _LABELS),
        other_usage=tuple((note.model, read_usage(note.usage, {"cost": note.cost})) for note in _of(UsageNote, here)),
        created=iso_time(created) or modified,
        updated=(messages[-1].time if messages else 0) or modified,
        losses=_losses(layout),
    )


def _spec(notes: Sequence[AnyNote]) -> ModelSpec | None:
    specs = (decode_or_none(ModelSpec, note.spec) for note in reversed(_of(ModelNote, notes)))
    return next((spec for spec in specs if spec), None)


def _of(kind: type[N], notes: Iterable[AnyNote]) -> list[N]:
    return [note for note in notes if isinstance(note, kind)]


def _with_customs(
    groups: list[tuple[Line, ...]], customs: list[CustomNote]
) -> Iterator[tuple[tuple[Line, ...], CustomMessage | None]]:
    """Yield the groups of lines, and the application's messages at their places with an empty group."""
    waiting: dict[str, list[CustomMessage]] = {}
    for note in customs:
        waiting.setdefault(note.after, []).append(_custom_message(note))
    yield from (((), message) for message in waiting.pop("", ()))
    for group in groups:
        yield group, None
        for line in group:
            yield from (((), message) for message in waiting.pop(line.id, ()))


def _custom_message(note: CustomNote) -> CustomMessage:
    return CustomMessage(note.kind, note.data, id=note.id or new_id(), time=iso_time(note.timestamp))


def check_format(layout: LineIndex, path: Path) -> None:
    """Reject files of a later version.

    Raises:
        SessionTooNew: The format version of the file is higher than ours.
    """
    # A later version may write a header that ours does not fit.
    unread = [other.get("format") for other in layout.others if other.get("type") == "cinch-session"]
    for version in (*(note.format for note in _of(HeaderNote, layout.notes)), *unread):
        if isinstance(version, int) and version > FORMAT:
            raise SessionTooNew(
                f"{path} is in session format {version}, this cinch reads up to {FORMAT}; update cinch to open it"
            )


def title_of(notes: list[JsonObject]) -> str:
    """Return the title set by the user, else by a model, else Claude Code's summary; the last of its kind counts."""
    kinds = (("custom-title", "customTitle"), ("ai-title", "aiTitle"), ("summary", "summary"))
    return next((title for kind, key in kinds if (title := _last(notes, kind, key))), "")


def tags_of(notes: Sequence[JsonObject]) -> tuple[str, ...]:
    """Return the tags of a session from its lines outside the conversation; the last line with tags counts."""
    line = next((note for note in reversed(notes) if note.get("type") == "tag"), None)
    tags = text_at(line, "tag").split(",") if line else ()
    return tuple(dict.fromkeys(filter(None, map(str.strip, tags))))


def _last(notes: list[JsonObject], kind: str, key: str) -> str:
    return next((text_at(note, key) for note in reversed(notes) if note.get("type") == kind and text_at(note, key)), "")


def _origin(messages: SessionMessages, layout: LineIndex) -> tuple[str, str]:
    """Return the folder and the time at which the session was started, from the first line that records them."""
    if headers := _of(HeaderNote, layout.notes):
        return headers[0].cwd, headers[0].timestamp
    if not layout.lines:
        return "", ""
    record = messages.parsed(layout.lines[0]) or {}
    return text_at(record, "cwd"), text_at(record, "timestamp")


def _unread(number: int) -> str:
    return f"line {number} of the session file cannot be read; its content is lost"


def _losses(layout: LineIndex) -> tuple[str, ...]:
    """Return a description of each place where a line is lost."""
    unread = [_unread(number) for number in layout.garbage]
    gaps = [f"before line {number} of the session file at least one message is missing" for number in layout.gaps]
    return (*unread, *gaps)
