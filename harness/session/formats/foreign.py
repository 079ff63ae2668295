"""Conversation read from another program's file, and its conversion to a session file."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from msgspec import Struct, field

from harness.codec import encode, parsed_arguments
from harness.messages import (
    AssistantMessage,
    CustomMessage,
    Image,
    JsonObject,
    JsonValue,
    ModelMessage,
    ModelSpec,
    Text,
    ToolCall,
    ToolResult,
    UserContent,
    UserMessage,
    new_id,
)
from harness.session.notes import CompactionNote, CustomNote, ModelNote, Note, RewindNote
from harness.session.reading import text_at
from harness.session.records import Envelope, LineBuilder, header_note, iso, title_line


class Compacted(Struct, frozen=True):
    """A summary that replaces the messages so far in the context."""

    summary: str
    """Text of the summary."""
    time: float
    """Seconds since the epoch."""


class RolledBack(Struct, frozen=True):
    """A return to the place before earlier prompts, which stay in the file."""

    prompts: int
    """Number of prompts that were taken back."""
    time: float
    """Seconds since the epoch."""


class ModelUsed(Struct, frozen=True):
    """The model from here on."""

    spec: ModelSpec
    """The model."""
    time: float
    """Seconds since the epoch."""


Entry = ModelMessage | CustomMessage | Compacted | RolledBack | ModelUsed


class ForeignSession(Struct):
    """Contents of another program's session file."""

    entries: list[Entry] = []
    """Messages and what happened between them, in order."""
    title: str = ""
    """Title; empty if it has none."""
    cwd: str = ""
    """Folder the session was started in; empty if unknown."""
    damaged: int = 0
    """Number of lines that could not be read."""
    left_out: Counter[str] = field(default_factory=Counter[str])
    """Contents that a session file of cinch cannot represent, with their numbers."""

    def lines(self, target: Path) -> Iterator[JsonObject | Note]:
        """Yield the lines of the session file `target`."""
        envelope = Envelope(target.stem, self.cwd)
        times = (entry.time for entry in self.entries)
        yield header_note(envelope, iso(next(times, 0.0)))
        if self.title:
            yield title_line(target.stem, self.title)
        writer = _EntryWriter(envelope)
        for entry in self.entries:
            yield from writer.lines(entry)


class _EntryWriter:
    def __init__(self, envelope: Envelope) -> None:
        self._envelope = envelope
        self._builder = LineBuilder(None)
        self._before_prompts: list[str | None] = []
        """Line before each prompt of the user, by which prompts are taken back."""

    def lines(self, entry: Entry) -> Iterator[JsonObject | Note]:
        session_id, timestamp = self._envelope.session_id, iso(entry.time)
        here = self._builder.parent or ""
        match entry:
            case Compacted(summary):
                yield CompactionNote(
                    session_id=session_id, timestamp=timestamp, id=new_id(), after=here, summary=summary, last=here
                )
            case RolledBack(prompts):
                self._go_back(prompts)
                yield RewindNote(session_id=session_id, timestamp=timestamp, leaf=self._builder.parent or "")
            case ModelUsed(spec):
                yield ModelNote(session_id=session_id, timestamp=timestamp, spec=encode(spec))
            case CustomMessage(kind, data):
                yield CustomNote(
                    session_id=session_id, timestamp=timestamp, id=entry.id, kind=kind, data=data, after=here
                )
            case UserMessage() | AssistantMessage() | ToolResult():
                if isinstance(entry, UserMessage) and not entry.synthetic:
                    self._before_prompts.append(self._builder.parent)
                yield from self._builder.lines(entry, self._envelope)

    def _go_back(self, prompts: int) -> None:
        for _ in range(min(prompts, len(self._before_prompts))):
            self._builder = LineBuilder(self._before_prompts.pop())


def image_content(url: str, left_out: Counter[str]) -> UserContent:
    """Return an image from a data URL; a text with the address for any other URL."""
    head, comma, data = url.partition(",")
    if comma and head.startswith("data:image/") and head.endswith(";base64"):
        return Image(head.removeprefix("data:").removesuffix(";base64"), data)
    left_out["image that is not in the file"] += 1
    return Text(f"[image: {url[:500]}]")


def tool_call(call_id: str, name: str, arguments: JsonValue) -> ToolCall:
    """Return a tool call; arguments that are not a JSON object are kept as text."""
    if isinstance(arguments, dict):
        return ToolCall(call_id, name, arguments)
    written = arguments if isinstance(arguments, str) else ""
    try:
        return ToolCall(call_id, name, parsed_arguments(written or "{}"))
    except ValueError:
        return ToolCall(call_id, name, {}, partial_json=written)


def image_source(source: JsonObject, left_out: Counter[str]) -> UserContent:
    """Return an image from a source object: base64 data, a URL or a path."""
    if data := text_at(source, "data"):
        return Image(text_at(source, "media_type") or "image/png", data)
    return image_content(text_at(source, "url") or text_at(source, "path"), left_out)


def count_at(record: JsonObject, key: str) -> int:
    """Return a number of tokens; 0 if it is missing."""
    value = record.get(key)
    return int(value) if isinstance(value, int | float) and value > 0 else 0
