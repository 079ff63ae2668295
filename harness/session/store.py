"""Session store: a bus subscriber that writes a session to disk as it happens.

The bus is synchronous, so a line is in the file before the loop takes its next step: a user message before its request
is sent, a tool result before the next request.
"""

from __future__ import annotations

import logging
import re
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from harness.codec import encode
from harness.events import (
    AgentEnd,
    AgentStart,
    Event,
    HookRan,
    MessageEnd,
    ModeChanged,
    ModelChanged,
    ParallelEnd,
    RequestStart,
    SubagentEvent,
    ToolExecutionEnd,
    TurnEnd,
    UsageAdded,
)
from harness.messages import (
    AssistantMessage,
    CustomMessage,
    JsonObject,
    Message,
    ModelMessage,
    ModelSpec,
    ToolResult,
    Usage,
    UserMessage,
)
from harness.session.journal import Journal
from harness.session.line_index import scan
from harness.session.paths import git_branch, session_path
from harness.session.reading import text_at
from harness.session.records import Envelope, LineBuilder, header_line, note_line, title_line, to_bytes, usage_line

if TYPE_CHECKING:
    from harness.session.resume import LoadedSession, SessionMessages

logger = logging.getLogger(__name__)

# Readers look for the title in the last 64 KiB of a file.
_TITLE_EVERY = 48 * 1024


class SessionStore:
    """Appends the events of a session to its file, which is created with the first message.

    Args:
        data_dir: Folder of all sessions.
        cwd: Folder of the project.
        session_id: Id of the session.
        resumed: Loaded session to continue in its own file.
        on_problem: Receives a message when saving starts to fail and when it works again; `store` never raises.
    """

    def __init__(
        self,
        data_dir: Path,
        cwd: Path,
        session_id: str,
        *,
        resumed: LoadedSession | None = None,
        on_problem: Callable[[str], None] = logger.warning,
    ) -> None:
        self.path = resumed.path if resumed else session_path(data_dir, cwd, session_id)
        self._cwd = cwd
        self._session_id = resumed.session_id if resumed else session_id
        self._memory = SessionMemory(self.path, Envelope(self.path.stem, ""))
        if resumed:
            self._memory.earlier, self._memory.notes = resumed.messages, [*resumed.notes]
        self._journal = Journal(self.path, on_problem, self._memory.lost_lines)
        self._resumed = resumed
        self._lines = LineBuilder(resumed.last_uuid if resumed else None)
        self._title = resumed.title if resumed else ""
        self._title_at = 0
        self._spec: ModelSpec | None = resumed.spec if resumed else None
        self._is_chosen = False
        self._is_new = resumed is None
        self._has_started = False
        self._early: list[JsonObject] = []
        self._envelope: Envelope | None = None

    @property
    def is_saved(self) -> bool:
        """True if all events are in the file."""
        return self._journal.is_saved

    def acquire(self) -> None:
        """Become the only writer of an existing session. Disk errors are reported at the first message.

        Raises:
            SessionLocked: Another process is writing to it; open it read-only or fork it.
        """
        with suppress(OSError):
            self._journal.acquire()

    def store(self, event: Event) -> None:
        """Write an event, if it is of a type that sessions store."""
        match event:
            case MessageEnd(message=message):
                self._message(message, event.time)
            case ToolExecutionEnd(result=ToolResult() as result) | HookRan(result=ToolResult() as result):
                self._append_message(result)
            case TurnEnd():
                self._end_turn()
            case ModelChanged(spec=spec):
                self.choose(spec)
            case RequestStart(spec=spec):
                if not self._is_chosen:
                    self._note_model(spec, event.time)
            case UsageAdded() | ParallelEnd() | SubagentEvent():
                self._note_usage(event)
            case _:
                self._note_other(event)

    def choose(self, spec: ModelSpec) -> None:
        """Record the model to use when the session is resumed; by default it is the one that was used last."""
        self._is_chosen = True
        self._note_model(spec, time.time())

    def rename(self, title: str) -> None:
        """Set the title of the session."""
        self._title = " ".join(title.split())
        self._title_at = self._journal.size
        self._note(title_line(self._session_id, self._title), now=not self._is_new)

    def restart(self) -> None:
        """Start a new conversation in the same file; the earlier one remains in it."""
        self._lines = LineBuilder(None)
        self._memory.written.append(None)

    def flush(self) -> None:
        """Retry data that could not be written."""
        self._journal.flush()

    def close(self) -> None:
        """Write and flush all data, then release the file."""
        self._journal.close()

    def _message(self, message: Message, time: float) -> None:
        match message:
            case UserMessage():
                self._envelope = None  # the branch may have changed since the last prompt
                self._append_message(message)
            case AssistantMessage():
                self._append_message(message)
            case ToolResult():
                # Written when its call ended, unless it was part of a prompt.
                if message.call_id in self._lines.call_lines:
                    self._append_message(message)
            case CustomMessage(kind, data):
                self._note(note_line("custom", self._session_id, time, {"kind": kind, "data": data}))

    def _append_message(self, message: ModelMessage) -> None:
        lines = [] if self._has_started else self._missing_results()
        self._append([*lines, *self._lines_of(message)])

    def _lines_of(self, message: ModelMessage) -> list[JsonObject]:
        """Return the lines of a message, which is kept to restore them."""
        self._memory.written.append(message)
        self._memory.envelope = self._current_envelope()
        return self._lines.lines(message, self._memory.envelope)

    def _missing_results(self) -> list[JsonObject]:
        """Return lines for the calls that a crash left without a result at the end of the resumed session."""
        if self._resumed is None or self._lines.parent != self._resumed.last_uuid:
            return []
        lines: list[JsonObject] = []
        for result, line in self._resumed.messages.open_calls_at_end():
            self._lines.call_lines[result.call_id] = line
            lines += self._lines_of(result)
        return lines

    def _end_turn(self) -> None:
        if self._title and self._journal.size - self._title_at > _TITLE_EVERY:
            self.rename(self._title)
        self._journal.sync()

    def _note_model(self, spec: ModelSpec, time: float) -> None:
        if spec != self._spec:
            self._spec = spec
            self._note(note_line("model", self._session_id, time, {"spec": encode(_without_secrets(spec))}))

    def _note_usage(self, event: Event) -> None:
        """Record usage that belongs to no reply of the conversation, such as that of subagents."""
        inner = event
        while isinstance(inner, SubagentEvent):
            inner = inner.event
        match inner:
            case UsageAdded(model=model, usage=usage):
                pass
            case ParallelEnd(usage_beside=usage):
                model = "parallel"
            case MessageEnd(message=AssistantMessage(provider=provider, model=name, usage=usage)):
                model = f"{provider}/{name}"
            case _:
                return
        if usage != Usage():
            self._note(usage_line(self._session_id, event.time, model, usage, self._lines.parent))

    def _note_other(self, event: Event) -> None:
        match event:
            case ModeChanged(mode=mode):
                kind, facts = "mode", {"mode": mode}
            case AgentStart(parent_run_id=parent, continuation=continuation):
                kind, facts = "run", {"phase": "start", "loopId": event.run_id}
                if parent:
                    facts["parentLoopId"] = parent
                if continuation:
                    facts["continuation"] = continuation.kind
            case AgentEnd(stop_reason=stop, limit=limit):
                kind, facts = "run", {"phase": "end", "loopId": event.run_id, "stop": stop, "limit": limit}
            case _:
                return
        self._note(note_line(kind, self._session_id, event.time, {**facts}))

    def _note(self, line: JsonObject, *, now: bool = False) -> None:
        if self._has_started or now:
            self._memory.notes.append(line)
            self._journal.append(to_bytes(line))
        else:
            self._early.append(line)

    def _append(self, lines: list[JsonObject]) -> None:
        """Append lines in one write, so that they are in the file together."""
        if not self._has_started:
            header = [header_line(self._current_envelope(), lines[0])] if self._is_new else []
            self._memory.notes += [*header, *self._early]
            lines = [*header, *self._early, *lines]
            self._has_started, self._is_new = True, False
            self._early.clear()
        self._journal.append(b"".join(to_bytes(line) for line in lines))

    def _current_envelope(self) -> Envelope:
        if self._envelope is None:
            self._envelope = Envelope(self._session_id, str(self._cwd), git_branch(self._cwd))
        return self._envelope


class SessionMemory(Struct):
    """In-memory copy of a session, to restore a file that another program truncated.

    It references messages and notes that exist elsewhere as well, so it takes little memory.
    """

    path: Path
    """The session file."""
    envelope: Envelope
    """Envelope of the last message."""
    earlier: SessionMessages | None = None
    """Messages of the resumed session."""
    written: list[ModelMessage | None] = []
    """Later messages; None starts a new conversation."""
    notes: list[JsonObject] = []
    """Lines outside the conversation."""

    def lost_lines(self) -> list[bytes]:
        """Return the lines that are missing from the file, in order.

        Raises:
            OSError: The file cannot be read.
        """
        layout = scan(self.path)
        kept = {line.id for line in layout.lines}
        lines = [to_bytes(line) for line in self._all_lines() if text_at(line, "uuid") not in kept]
        kept_notes = {to_bytes(note) for note in layout.notes}
        notes = [note for note in dict.fromkeys(map(to_bytes, self.notes)) if note not in kept_notes]
        headers = [note for note in notes if note.startswith(b'{"type":"cinch-session"')]
        return [*headers, *lines, *notes[len(headers) :]]

    def _all_lines(self) -> Iterator[JsonObject]:
        """Recreate the lines of the conversation, with the same ids as the first time."""
        builder = LineBuilder(None)
        earlier = self.earlier.in_memory if self.earlier else ()
        for message in (*earlier, *self.written):
            if message is None:
                builder = LineBuilder(None)
            else:
                yield from builder.lines(message, self.envelope)


def _without_secrets(spec: ModelSpec) -> ModelSpec:
    """Return the spec without credentials in its base URL."""
    url = re.sub(r"//[^/@]*@", "//", spec.base_url).partition("?")[0]
    return spec if url == spec.base_url else replace(spec, base_url=url)
