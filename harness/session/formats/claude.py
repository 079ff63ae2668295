"""Export to Claude Code: a session file of the current branch, as its own program would have written it.

A compaction is an overlay in our files and a new beginning in those of Claude Code: a `compact_boundary`, the summary,
then the messages that the summary does not replace.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from itertools import chain, pairwise

from harness.messages import JsonObject, ToolResult, UserMessage
from harness.messages import Text as TextBlock
from harness.session.fork import chain_records
from harness.session.notes import CompactionNote
from harness.session.reading import iso_time, object_at, text_at, tool_result_of
from harness.session.records import Envelope, result_line, title_line, user_line
from harness.session.resume import LoadedSession


def claude_records(session: LoadedSession) -> Iterator[JsonObject]:
    """Yield the lines of the session for Claude Code, with a result for every call and without lines of cinch.

    Raises:
        OSError: The file cannot be read.
    """
    for record, following in pairwise(chain(_Exporter(session).all_lines(), (None,))):
        if record is not None:
            # Claude Code hides meta lines, and does not accept one as the end of a conversation.
            is_meta = object_at(record, "cinch").get("synthetic") is True and following is not None
            yield {**record, "isMeta": True} if is_meta else record
    if session.title:
        yield title_line(session.session_id, session.title)


class _Exporter:
    def __init__(self, session: LoadedSession) -> None:
        self._path = session.path
        self._envelope = Envelope(session.session_id, str(session.cwd))
        line_ids = session.messages.line_ids()
        self._compactions = {note.last if note.last in line_ids else note.after: note for note in session.compactions}
        self._kept = _kept_lines(session)
        self._missing: dict[str, list[ToolResult]] = {}
        for result, line in session.messages.missing_results():
            self._missing.setdefault(line, []).append(result)
        self._copies: list[JsonObject] = []
        """Lines so far that a later summary does not replace."""
        self._results: list[tuple[ToolResult, str]] = []
        """Missing results of the reply being written, each with the line of its call."""
        self._compaction: CompactionNote | None = None
        """Compaction to write after the reply and its results."""
        self._reply = ""
        self._last = ""
        self._linkable: set[str] | None = None
        """Lines after the last compaction; None before the first one."""
        self._next_parent = ""

    def all_lines(self) -> Iterator[JsonObject]:
        """Yield the lines of the conversation."""
        for record in chain_records(self._path):
            yield from self.lines(record)
        yield from self.at_end()

    def lines(self, record: JsonObject) -> Iterator[JsonObject]:
        """Yield a line of the conversation, after what is due before it."""
        reply = text_at(object_at(record, "message"), "id")
        if tool_result_of(record) is None and not (reply and reply == self._reply):
            yield from self.at_end()
        self._reply = reply or self._reply
        line_id = text_at(record, "uuid")
        yield self._add(self._linked(record))
        self._results += [(result, line_id) for result in self._missing.get(line_id, ())]
        self._compaction = self._compactions.get(line_id, self._compaction)
        if line_id in self._kept:
            self._copies.append(record)

    def at_end(self) -> Iterator[JsonObject]:
        """Yield the missing results of the last reply, then a compaction that is due."""
        for result, call_line in self._results:
            yield self._add(result_line(result, call_line, self._envelope))
            self._next_parent = result.id
        self._results = []
        if note := self._compaction:
            self._compaction = None
            yield from self._compacted(note)

    def _add(self, record: JsonObject) -> JsonObject:
        self._last = text_at(record, "uuid")
        if self._linkable is not None:
            self._linkable.add(self._last)
        return record

    def _linked(self, record: JsonObject) -> JsonObject:
        """Return the line, linked to an earlier one after the last compaction."""
        if self._next_parent and tool_result_of(record) is None:
            record, self._next_parent = {**record, "parentUuid": self._next_parent}, ""
        if self._linkable is not None and text_at(record, "parentUuid") not in self._linkable:
            record = {**record, "parentUuid": self._last}
        return record

    def _compacted(self, note: CompactionNote) -> Iterator[JsonObject]:
        self._next_parent = ""
        time, boundary_id = iso_time(note.timestamp), _derived(note.id, "boundary")
        boundary: JsonObject = {
            **self._envelope.wrap("system", boundary_id, None, time),
            **self._envelope.tail(),
            "logicalParentUuid": self._last,
            "subtype": "compact_boundary",
            "content": "Conversation compacted",
            "level": "info",
            "compactMetadata": {"trigger": note.trigger, "preTokens": note.tokens_before},
        }
        self._linkable = set()
        yield self._add(boundary)
        message = UserMessage((TextBlock(note.summary),), id=note.id, time=time)
        summary = user_line(message, boundary_id, self._envelope)
        yield self._add({**summary, "isCompactSummary": True, "isVisibleInTranscriptOnly": True})
        for record in self._copies:
            yield self._add(self._copied(record, note.id))

    def _copied(self, record: JsonObject, note_id: str) -> JsonObject:
        links: JsonObject = {
            key: _derived(note_id, link)
            for key in ("uuid", "parentUuid", "sourceToolAssistantUUID")
            if (link := text_at(record, key))
        }
        copy: JsonObject = {**record, **links}
        if text_at(copy, "parentUuid") not in (self._linkable or ()):
            copy["parentUuid"] = self._last
        return copy


def _derived(note_id: str, name: str) -> str:
    return str(uuid.uuid5(uuid.NAMESPACE_OID, f"{note_id}/{name}"))


def _kept_lines(session: LoadedSession) -> set[str]:
    """Return the lines that a compaction keeps in the context although they precede its last replaced line."""
    kept = {line for note in session.compactions for line in note.kept}
    firsts = {note.first for note in session.compactions if note.first}
    before: list[str] = []
    for record in chain_records(session.path) if firsts else ():
        if (line_id := text_at(record, "uuid")) in firsts:
            kept.update(before)
        before.append(line_id)
    return kept
