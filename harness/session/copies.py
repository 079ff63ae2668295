"""Parts of a recorder: files of subagents, and the copy in memory of lines that the session file may lose."""

from __future__ import annotations

from collections.abc import Iterator, Sequence, Set
from itertools import zip_longest
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from harness.events import Event, HookRan, MessageEnd, ToolExecutionEnd, ToolExecutionStart
from harness.messages import AssistantMessage, JsonObject, ModelMessage, ToolResult, UserMessage
from harness.session.journal import LostLines
from harness.session.notes import AnyNote, CallNote, HeaderNote, Note, RewindNote
from harness.session.reading import text_at
from harness.session.records import Envelope, LineBuilder, header_note, iso, to_bytes
from harness.session.threaded_journal import ThreadedJournal

if TYPE_CHECKING:
    from harness.session.line_index import Line
    from harness.session.session_messages import RemainingMessage, SessionMessages
    from harness.session.stores import StoreJournal


class SubagentFile:
    """Conversation of one subagent.

    Next to a session file it is `<session>/subagents/agent-<id>.jsonl`; in a store it is part of its session.
    """

    def __init__(self, session: ThreadedJournal | StoreJournal, envelope: Envelope) -> None:
        self._journal = session.of_subagent(envelope.agent_id)
        self._envelope = envelope
        self._lines = LineBuilder(None)

    def store(self, event: Event) -> None:
        match event:
            case MessageEnd(message=UserMessage() | AssistantMessage() as message):
                is_first = self._lines.parent is None
                # Other programs recognize the file by its first line.
                header = [header_note(self._envelope, iso(message.time))] if is_first else []
                self._append(*self._lines.lines(message, self._envelope), *header)
            case ToolExecutionEnd(result=ToolResult() as result) | HookRan(result=ToolResult() as result):
                self._append(*self._lines.lines(result, self._envelope))
            case ToolExecutionStart(call=call):
                session_id, timestamp = self._envelope.session_id, iso(event.time)
                self._append(CallNote(session_id=session_id, timestamp=timestamp, call_id=call.id, tool=call.name))
            case _:
                pass

    def close(self) -> None:
        self._journal.close()

    def _append(self, *lines: AnyNote | JsonObject) -> None:
        self._journal.append(b"".join(map(to_bytes, lines)))


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

    def lost_lines(self) -> LostLines:
        """Return the lines that are missing from the file, in order.

        Raises:
            OSError: The file cannot be read.
        """
        # Needed only if another program truncated the file.
        from harness.session.line_index import scan

        layout = scan(self.path)
        kept = {line.id for line in layout.lines}
        remaining = list(self.earlier.remaining()) if self.earlier else []
        lines, end = self._conversation(remaining, kept)
        # Results of calls that a crash left open, unless they are among the lines of a later start.
        results = {own_id: note for note in self.notes if isinstance(note, dict) and (own_id := text_at(note, "uuid"))}
        lost = {own_id: line for own_id, line in {**results, **lines}.items() if own_id not in kept}
        notes = [note for note in self.notes if isinstance(note, Note) or not text_at(note, "uuid")]
        headers = [note for note in notes if isinstance(note, HeaderNote)]
        rewinds = [replace(note, leaf=end) for note in notes if isinstance(note, RewindNote)]
        others = [note for note in notes if not isinstance(note, HeaderNote | RewindNote)]
        kept_notes = {to_bytes(note) for note in (*layout.notes, *layout.others)}
        # A rewind refers to the lines before it, so one at the end takes the place of all.
        ordered = map(to_bytes, (*headers, *lost.values(), *others, *rewinds[-1:]))
        shortened = sum(each.is_shortened for each in remaining)
        return LostLines([line for line in dict.fromkeys(ordered) if line not in kept_notes], shortened)

    def _conversation(self, earlier: Sequence[RemainingMessage], kept: Set[str]) -> tuple[dict[str, JsonObject], str]:
        """Return the lines of the conversation by uuid, with the same ids as the first time, and its last line."""
        builder = LineBuilder(None)
        lines: dict[str, JsonObject] = {}
        ids: dict[str, str] = {}
        for each in earlier:
            made = builder.lines(each.message, self.envelope)
            if any(line.id in kept for line in each.lines):
                # Lines of other programs may have several blocks.
                made = made[: len(each.lines)]
            lines.update(_as_before(made, each.lines, ids))
        for message in self.written:
            if message is None:
                builder = LineBuilder(None)
            else:
                lines.update(_as_before(builder.lines(message, self.envelope), (), ids))
        return lines, ids.get(builder.parent or "", builder.parent or "")


def _as_before(
    made: Sequence[JsonObject], before: Sequence[Line], ids: dict[str, str]
) -> Iterator[tuple[str, JsonObject]]:
    """Yield lines by uuid, with the ids of the lines before: those of other programs are not derived from the message.

    Args:
        made: Lines of a message.
        before: Its lines in the file.
        ids: Former ids of earlier lines, by their new ones; those of these lines are added.
    """
    for line, former in zip_longest(made, before[: len(made)]):
        if former:
            ids[text_at(line, "uuid")] = former.id
            line |= {"requestId": former.group} if "requestId" in line else {}
        links = ("uuid", "parentUuid", "sourceToolAssistantUUID")
        line |= {key: ids[link] for key in links if (link := text_at(line, key)) in ids}
        yield text_at(line, "uuid"), line
