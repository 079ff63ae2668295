"""Files and memory beside the session file: conversations of subagents, and the lines that a file may lose."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct

from harness.events import Event, HookRan, MessageEnd, ToolExecutionEnd
from harness.messages import AssistantMessage, JsonObject, ModelMessage, ToolResult, UserMessage
from harness.session.journal import Journal
from harness.session.line_index import scan
from harness.session.notes import AnyNote
from harness.session.paths import subagent_path
from harness.session.reading import text_at
from harness.session.records import Envelope, LineBuilder, to_bytes

if TYPE_CHECKING:
    from harness.session.resume import SessionMessages


class SubagentFile:
    """Conversation of one subagent, next to the session: `<session>/subagents/agent-<id>.jsonl`."""

    def __init__(self, session: Path, envelope: Envelope, on_problem: Callable[[str], None]) -> None:
        self._journal = Journal(subagent_path(session, envelope.agent_id), on_problem)
        self._envelope = envelope
        self._lines = LineBuilder(None)

    def store(self, event: Event) -> None:
        match event:
            case MessageEnd(message=UserMessage() | AssistantMessage() as message):
                self._append(message)
            case ToolExecutionEnd(result=ToolResult() as result) | HookRan(result=ToolResult() as result):
                self._append(result)
            case _:
                pass

    def close(self) -> None:
        self._journal.close()

    def _append(self, message: ModelMessage) -> None:
        self._journal.append(b"".join(map(to_bytes, self._lines.lines(message, self._envelope))))


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
    notes: list[AnyNote | JsonObject] = []
    """Lines outside the conversation."""

    def lost_lines(self) -> list[bytes]:
        """Return the lines that are missing from the file, in order.

        Raises:
            OSError: The file cannot be read.
        """
        layout = scan(self.path)
        kept = {line.id for line in layout.lines}
        lines = [to_bytes(line) for line in self._all_lines() if text_at(line, "uuid") not in kept]
        kept_notes = {to_bytes(note) for note in (*layout.notes, *layout.others)}
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
