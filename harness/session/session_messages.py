"""Messages of a session file, read when they are accessed."""

from __future__ import annotations

import os
import weakref
from collections.abc import Iterator, Sequence, Set
from pathlib import Path
from typing import NamedTuple, overload

from harness.context.normalize import DID_NOT_RUN, MAY_HAVE_RUN, NO_RESULT, missing_result
from harness.messages import (
    AssistantMessage,
    CustomMessage,
    JsonObject,
    Message,
    ModelMessage,
    ToolResult,
    new_id,
)
from harness.session.line_index import Line, LineIndex, conversation, scan_end
from harness.session.notes import CallNote, CustomNote, HeaderNote, RewindNote
from harness.session.outline import beginning_of, is_intact, truncate_texts
from harness.session.own_lines import OwnLine, own_message, read_own_line
from harness.session.paths import session_descriptor
from harness.session.reading import call_lines, iso_time, parse, read_assistant, read_result, read_user, text_at

_END_SIZES = (1 << 20, 8 << 20)
"""Bytes at the end of a file that are searched for the last messages."""
_END_MESSAGES = 24
LONG = 2_000
"""Bytes above which a message is read on access."""


class MessageReader:
    """Reads messages while their lines are indexed: short ones, and the outlines of others."""

    def __init__(self) -> None:
        self.short: dict[tuple[int, ...], ModelMessage] = {}
        """Messages by the positions of their lines."""
        self.outlines: dict[tuple[int, ...], ModelMessage] = {}
        """Outlines of long messages, by the positions of their lines."""
        self._lines: list[Line] = []
        self._contents: list[OwnLine] = []

    def add(self, line: Line, content: OwnLine) -> None:
        """Read a line; its message is complete when a line of another one follows."""
        if self._lines and (line.kind == "user" or line.group != self._lines[0].group):
            self.finish()
        self._lines.append(line)
        self._contents.append(content)
        if line.kind == "user":
            self.finish()

    def finish(self) -> None:
        """Complete the last message."""
        lines, contents = self._lines, self._contents
        if not lines:
            return
        self._lines, self._contents = [], []
        message = own_message(contents)
        if message is None:
            return
        if sum([line.size for line in lines]) > LONG:
            self.outlines[_positions(lines)] = truncate_texts(message)
        else:
            self.short[_positions(lines)] = message


def _positions(lines: Sequence[Line]) -> tuple[int, ...]:
    return (lines[0].offset,) if len(lines) == 1 else tuple([line.offset for line in lines])


class RemainingMessage(NamedTuple):
    """A message, to restore its lines."""

    message: ModelMessage
    """The message."""
    lines: tuple[Line, ...]
    """Lines of the message in the file."""
    is_shortened: bool = False
    """True if only the beginning of the message is left."""


class SessionMessages(Sequence[Message]):
    """Messages of a session, read on first access from its file, or from the content of one.

    The file may be appended to, moved or deleted in the meantime. Thread-safe for reading.
    """

    def __init__(self, source: Path | bytes, layout: LineIndex, read: MessageReader | None = None) -> None:
        """Create the messages of an index; `read` has those that were read while it was made."""
        starts = (at for at, note in enumerate(layout.notes) if isinstance(note, RewindNote) and not note.leaf)
        # The last return to an empty conversation ends the earlier ones.
        customs = [note for note in layout.notes[max(starts, default=0) :] if isinstance(note, CustomNote)]
        self._groups: list[tuple[Line, ...]] = conversation(layout)
        self._read: list[Message | None] = [None] * len(self._groups)
        if customs:
            pairs = list(_with_customs(self._groups, customs))
            self._groups, self._read = [group for group, _ in pairs], [custom for _, custom in pairs]
        self.outlines: dict[int, ModelMessage] = {}
        """Outlines of messages that are not kept in memory, by their indexes."""
        if read is not None:
            self._take(read)
        self._tool_names = layout.tool_names
        self._started = {note.call_id for note in layout.notes if isinstance(note, CallNote)}
        self._records_calls = any(note.records_calls for note in layout.notes if isinstance(note, HeaderNote))
        self._missing: list[tuple[ToolResult, str]] | None = None
        self._source = source if isinstance(source, bytes) else session_descriptor(source)
        if isinstance(self._source, int):
            weakref.finalize(self, os.close, self._source)
        self.damaged: list[int] = []
        """Numbers of lines that turned out to be unreadable on access."""

    def _take(self, read: MessageReader) -> None:
        for index, group in enumerate(self._groups):
            positions = _positions(group) if group else ()
            if (message := read.short.get(positions)) is not None:
                self._read[index] = message
            elif (outline := read.outlines.get(positions)) is not None:
                self.outlines[index] = outline

    def __len__(self) -> int:
        return len(self._groups)

    @overload
    def __getitem__(self, index: int) -> Message: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[Message, ...]: ...
    def __getitem__(self, index: int | slice) -> Message | tuple[Message, ...]:
        if isinstance(index, slice):
            return tuple(self[place] for place in range(*index.indices(len(self))))
        message = self._read[index] = self.read(index)
        return message

    def read(self, index: int) -> Message:
        """Return a message without keeping it in memory."""
        message = self._read[index]
        return self._load(self._groups[index]) if message is None else message

    def brief(self, index: int) -> Message:
        """Return a message without keeping it in memory; long texts may be truncated."""
        return self.outlines.get(index) or self.read(index)

    def outlined(self, long: Set[int]) -> list[Message]:
        """Return all messages, those at the indexes `long` as outlines, and keep the others in memory."""
        return [self._outline(at) if at in long else read or self[at] for at, read in enumerate(self._read)]

    def _outline(self, index: int) -> Message:
        return self.outlines.get(index) or truncate_texts(self.read(index))

    def size(self, index: int) -> int:
        """Return the number of bytes of a message in the file."""
        group = self._groups[index]
        return group[0].size if len(group) == 1 else sum([line.size for line in group])

    def remaining(self) -> Iterator[RemainingMessage]:
        """Yield the messages as far as they are in memory or still in the file."""
        for index, known in enumerate(self._read):
            outline = self.outlines.get(index)
            message = self.read(index) if outline and known is None else known
            if message is None or isinstance(message, CustomMessage):
                continue
            if outline and not is_intact(message, outline):
                yield RemainingMessage(beginning_of(outline), self._groups[index], is_shortened=True)
            else:
                yield RemainingMessage(message, self._groups[index])

    def without(self, ids: Set[str]) -> Iterator[Message]:
        """Yield the messages whose ids are not among `ids`; no others are read."""
        return (self[index] for index, group in enumerate(self._groups) if group and group[0].id not in ids)

    def index_of(self, line_id: str) -> int:
        """Return the index of the message with a line, or the number of messages."""
        return self.positions().get(line_id, len(self))

    @property
    def ids(self) -> list[str]:
        """Ids of the messages; empty for those of the application, which models do not see."""
        return [group[0].id if group else "" for group in self._groups]

    def line_ids(self) -> set[str]:
        return {line.id for group in self._groups for line in group}

    def positions(self) -> dict[str, int]:
        """Return the index of the message of each line, by the line's uuid."""
        return {line.id: index for index, group in enumerate(self._groups) for line in group}

    def indexes_of(self, prefix: str) -> list[int]:
        """Return the indexes of the messages with a line whose uuid is `prefix`, or starts with it in any case."""
        positions = self.positions()
        if prefix in positions:
            return [positions[prefix]]
        start = prefix.lower()
        return sorted({index for line_id, index in positions.items() if line_id.lower().startswith(start)})

    def open_calls(self, start: int = 0, messages: Sequence[Message] | None = None) -> Iterator[tuple[ToolResult, str]]:
        """Yield the missing result of each open call from `start` on, with the uuid of the call's line.

        Args:
            start: Index of the first message.
            messages: The messages from `start` on, whose texts are not needed; by default they are read.
        """
        messages = self[start:] if messages is None else messages
        # Comparing types keeps ten thousand messages within some milliseconds.
        answered = {message.call_id for message in messages if type(message) is ToolResult}
        for group, reply in zip(self._groups[start:], messages, strict=True):
            if type(reply) is not AssistantMessage:
                continue
            if unanswered := [call for call in reply.tool_calls if call.id not in answered]:
                lines = call_lines(map(self._record, group))
                for call in unanswered:
                    missing = missing_result(reply.id, call, reply.time, self._why_open(call.id))
                    yield missing, lines.get(call.id, group[-1].id)

    def missing_results(self, messages: Sequence[Message] | None = None) -> list[tuple[ToolResult, str]]:
        """Return what `open_calls` yields for the whole conversation."""
        if self._missing is None:
            self._missing = list(self.open_calls(0, messages))
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

    def completed(self, messages: Sequence[Message] | None = None) -> list[Message]:
        """Return the messages with a result for every open call, directly after its reply.

        Args:
            messages: All messages, whose texts are not needed; by default they are read.
        """
        messages = self if messages is None else messages
        missing: dict[str, list[ToolResult]] = {}
        for result, _ in self.missing_results(messages):
            missing.setdefault(result.call_id, []).append(result)
        if not missing:
            return list(messages)
        complete: list[Message] = []
        for message in messages:
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
        own = [each for line in group if (each := read_own_line(self._raw(line))) and each.uuid == line.id]
        if len(own) == len(group) and (message := own_message(own)) is not None:
            return message
        records = [self._record(line) for line in group]
        if group[0].kind == "assistant":
            return read_assistant(records)
        return read_result(records[0], self._tool_names) if group[0].is_result else read_user(records[0])

    def parsed(self, line: Line) -> JsonObject | None:
        """Return a line of the conversation; None if it cannot be read."""
        return parse(self._raw(line))

    def _raw(self, line: Line) -> bytes:
        source = self._source
        if isinstance(source, bytes):
            return source[line.offset : line.offset + line.size]
        return os.pread(source, line.size, line.offset)

    def _record(self, line: Line) -> JsonObject:
        record = self.parsed(line)
        if record is None or text_at(record, "uuid") != line.id:
            # A line damaged after its envelope keeps its place; its message is empty.
            self.damaged.append(line.number)
            return {"uuid": line.id}
        return record


def load_end(path: Path) -> SessionMessages:
    """Return the messages at the end of a session file, to show while the rest is read.

    They may differ from those of the whole file, for example after a rewind.

    Raises:
        OSError: The file cannot be read.
    """
    short, long = _END_SIZES
    messages = SessionMessages(path, scan_end(path, short))
    return messages if len(messages) >= _END_MESSAGES else SessionMessages(path, scan_end(path, long))


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
