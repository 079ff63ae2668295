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
from harness.errors import SessionError, SessionMissing, SessionTooNew
from harness.lazy_dataclass import dataclass
from harness.messages import JsonObject, Message, ModelSpec
from harness.session.lines import Layout, Line, conversation, last_leaf, scan
from harness.session.reading import object_at, parse, read_assistant, read_result, read_user, text_at, time_of
from harness.session.records import FORMAT


class SessionMessages(Sequence[Message]):
    """The messages of a session, each read from disk when it is first looked at.

    The file may be appended to, moved or deleted meanwhile: what was there stays readable. Safe to read from a thread.
    """

    def __init__(self, path: Path, groups: list[tuple[Line, ...]], tool_names: dict[str, str]) -> None:
        self._groups = groups
        self._tool_names = tool_names
        self._read: list[Message | None] = [None] * len(groups)
        self._fd = os.open(path, os.O_RDONLY)
        weakref.finalize(self, os.close, self._fd)

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

    def _load(self, group: tuple[Line, ...]) -> Message:
        records = [self._record(line) for line in group]
        if group[0].kind == "assistant":
            return read_assistant(records)
        return read_result(records[0], self._tool_names) if group[0].is_result else read_user(records[0])

    def _record(self, line: Line) -> JsonObject:
        # A line damaged behind its envelope still has its place; it is read as having said nothing.
        return parse(os.pread(self._fd, line.size, line.offset)) or {"uuid": line.id}


@dataclass(frozen=True, slots=True)
class LoadedSession:
    """`last_uuid` is the line that the next one hangs under; `spec` is None where no model of ours was noted."""

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
    warnings: tuple[str, ...] = ()
    loop_ids: tuple[str, ...] = ()

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
        first, updated = _first_record(path, layout), path.stat().st_mtime
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
        last_leaf(layout),
        title=title_of(layout.notes),
        spec=_spec(layout.notes),
        mode=_last(layout.notes, "cinch-mode", "mode"),
        loop_ids=tuple(_loop_ids(layout.notes)),
        created=time_of(first) or updated,
        updated=updated,
        warnings=_warnings(layout),
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


def _loop_ids(notes: list[JsonObject]) -> Iterator[str]:
    """The runs that were begun, in their order."""
    for note in notes:
        if note.get("type") == "cinch-run" and note.get("phase") == "start":
            yield text_at(note, "loopId")


def _spec(notes: list[JsonObject]) -> ModelSpec | None:
    for note in reversed(notes):
        if note.get("type") == "cinch-model":
            try:
                return decode(ModelSpec, object_at(note, "spec"))
            except ValueError:
                continue
    return None


def _first_record(path: Path, layout: Layout) -> JsonObject:
    """The first line that tells where and when the session began."""
    header = next((note for note in layout.notes if note.get("type") == "cinch-session"), None)
    if header or not layout.lines:
        return header or {}
    line = layout.lines[0]
    with path.open("rb") as file:
        file.seek(line.offset)
        return parse(file.read(line.size)) or {}


def _warnings(layout: Layout) -> tuple[str, ...]:
    return tuple(f"line {number} of the session file cannot be read and is skipped" for number in layout.garbage)
