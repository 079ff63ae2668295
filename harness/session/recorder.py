"""Session recorder: a bus subscriber that writes a session to disk, or to a store, as it happens.

A thread writes files, and usually the line is in the file when `store` returns. If the disk is slow, and for a store,
the agent waits for `drain` before it sends a request or executes a tool call: a user message is saved before its
request, a tool result before the next request, and the start of a call before its effects.
"""

from __future__ import annotations

import logging
import re
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec.structs import replace

from harness.codec import encode
from harness.events import (
    AgentEnd,
    AgentStart,
    Event,
    HistoryReplaced,
    HookRan,
    MessageEnd,
    ModeChanged,
    ModelChanged,
    ParallelEnd,
    RequestStart,
    SubagentEvent,
    ToolExecutionEnd,
    ToolExecutionStart,
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
    UsageSource,
    UserMessage,
    new_id,
)
from harness.session.context_notes import context_note
from harness.session.copies import SessionMemory, SubagentFile
from harness.session.notes import (
    AnyNote,
    CallNote,
    CustomNote,
    ModelNote,
    ModeNote,
    NoteOrigin,
    RewindNote,
    RunNote,
    UsageNote,
    cost_facts,
    usage_facts,
)
from harness.session.paths import SUFFIX, git_branch, session_path
from harness.session.reading import text_at
from harness.session.recorded_prefix import RecordedPrefix
from harness.session.records import (
    Envelope,
    LineBuilder,
    automatic_title_line,
    iso,
    tag_line,
    title_line,
    to_bytes,
)
from harness.session.threaded_journal import ThreadedJournal

if TYPE_CHECKING:
    from harness.ports.session_store import SessionStore
    from harness.session.resume import LoadedSession
    from harness.session.stores import StoreJournal

logger = logging.getLogger(__name__)

# Readers look for titles and tags in the last 64 KiB of a file.
_LABELS_EVERY = 48 * 1024


class SessionRecorder:
    """Appends the events of a session to its file or its store, which has it from the first message on.

    Args:
        target: Folder of all sessions, or a store.
        cwd: Folder of the project.
        session_id: Id of the session.
        resumed: Loaded session to continue, in its own file or in the store.
        on_problem: Receives a message when saving starts to fail and when it works again.
    """

    def __init__(
        self,
        target: Path | SessionStore,
        cwd: Path,
        session_id: str,
        *,
        resumed: LoadedSession | None = None,
        on_problem: Callable[[str], None] = logger.warning,
    ) -> None:
        self._cwd = cwd
        self._session_id = session_id = resumed.session_id if resumed else session_id
        self.path = resumed.path if resumed else _path(target, cwd, session_id)
        """The file; in a store, only the name it would have."""
        self._memory = SessionMemory(self.path, Envelope(session_id, ""))
        if resumed:
            self._memory.earlier, self._memory.notes = resumed.messages, [*resumed.notes, *resumed.labels]
        if isinstance(target, Path):
            self._journal = ThreadedJournal(self.path, on_problem, self._memory.lost_lines)
        else:
            self._journal = _store_journal(target, session_id, on_problem)
        self._incomplete = resumed
        self._lines = LineBuilder(resumed.last_uuid if resumed else None)
        self._labels = _last_labels(resumed) if resumed else {}
        self._labels_at = 0
        self._spec: ModelSpec | None = resumed.spec if resumed else None
        self._is_chosen = False
        self._is_new = resumed is None
        self._has_started = False
        self._early: list[AnyNote | JsonObject] = []
        self.prefix = RecordedPrefix(resumed)
        """System prompt and tools, which are recorded with the first message and when they change."""
        self._subagents: dict[str, SubagentFile] = {}
        self._envelope: Envelope | None = None

    @property
    def is_saved(self) -> bool:
        """True if all events are in the file or store."""
        return self._journal.is_saved

    async def drain(self) -> None:
        """Wait until all events are in the file or store, or kept in memory because it cannot be written now."""
        await self._journal.drain()

    def acquire(self) -> None:
        """Become the only writer of an existing session. Disk errors are reported at the first message.

        Raises:
            SessionLocked: Another process is writing to it; open it read-only or fork it.
        """
        with suppress(OSError):
            self._journal.acquire()
            self._complete()

    def store(self, event: Event) -> None:
        """Write an event, if it is of a type that sessions store."""
        match event:
            case MessageEnd(message=message):
                self._message(message)
            case ToolExecutionEnd(result=ToolResult() as result) | HookRan(result=ToolResult() as result):
                self._append_message(result, event.child_run_id if isinstance(event, ToolExecutionEnd) else "")
            case HistoryReplaced(messages=messages):
                self.restart(messages)
            case TurnEnd():
                self._end_turn()
            case ToolExecutionStart(call=call):
                self._note(CallNote(**self._at(event.time), call_id=call.id, tool=call.name))
            case SubagentEvent():
                self._store_subagent(event)
            case UsageAdded() | ParallelEnd():
                self._note_usage(event)
            case _:
                self._note_change(event)

    def choose(self, spec: ModelSpec) -> None:
        """Record the model to use when the session is resumed; by default it is the one that was used last."""
        self._is_chosen = True
        self._note_model(spec, time.time())

    def rename(self, title: str) -> None:
        """Set the title of the session."""
        self._label(title_line(self._session_id, " ".join(title.split())))

    def suggest_title(self, title: str) -> None:
        """Set the title that the session has unless the user sets one."""
        self._label(automatic_title_line(self._session_id, " ".join(title.split())))

    def tag(self, tags: Sequence[str]) -> None:
        """Replace the tags of the session."""
        self._label(tag_line(self._session_id, tags))

    @property
    def labels(self) -> list[JsonObject]:
        """Current lines with the titles and tags of the session."""
        return list(self._labels.values())

    def restart(self, messages: Sequence[Message] = ()) -> None:
        """Start a new conversation in the same file; the earlier one remains. Of equal ids, the last one counts."""
        self._lines = LineBuilder(None)
        self._memory.written.append(None)
        if not self._is_new:
            self._note(RewindNote(**self._at(time.time())), now=True)
        for message in messages:
            self._message(message)

    def flush(self) -> None:
        """Wait until all data is written, and retry what could not be."""
        self._journal.flush()

    def close(self) -> None:
        """Write and flush all data, then release the files. `drain` waits for a store."""
        for subagent in self._subagents.values():
            subagent.close()
        self._subagents.clear()
        self._journal.close()

    def _message(self, message: Message) -> None:
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
                after = self._lines.parent or ""
                self._note(CustomNote(**self._at(message.time), id=message.id, kind=kind, data=data, after=after))

    def _append_message(self, message: ModelMessage, subagent: str = "") -> None:
        """Append a message; with `subagent`, the result of the call that started it."""
        self._complete()
        # Kept to restore its lines.
        self._memory.written.append(message)
        self._memory.envelope = self._current_envelope()
        lines = self._lines.lines(message, self._memory.envelope)
        if subagent and isinstance(origin := lines[-1].get("toolUseResult"), dict):
            origin["agentId"] = subagent
        self._append(lines)

    def _complete(self) -> None:
        """Write a result for each call that a crash left without one, of subagents too."""
        resumed, self._incomplete = self._incomplete, None
        if resumed is None or self._lines.parent != resumed.last_uuid or not resumed.messages.missing_results():
            return
        from harness.session.doctor import completing_lines, repair_subagents

        lines, self._lines.parent = completing_lines(resumed, self._current_envelope())
        self._memory.notes += lines
        self._write(lines)
        self._journal.execute(partial(repair_subagents, self.path))

    def _end_turn(self) -> None:
        if self._journal.size - self._labels_at > _LABELS_EVERY:
            for line in self.labels:
                self._label(line)
        self._journal.sync()

    def _label(self, line: JsonObject) -> None:
        self._labels[text_at(line, "type")] = line
        self._labels_at = self._journal.size
        self._note(line, now=not self._is_new)

    def _note_model(self, spec: ModelSpec, time: float) -> None:
        if spec != self._spec:
            self._spec = spec
            self._note(ModelNote(**self._at(time), spec=encode(_without_secrets(spec))))

    def _note_prefix(self, time: float) -> None:
        """Record system prompt and tools if they are not the recorded ones."""
        if self._has_started and (header := self.prefix.header(self._current_envelope(), iso(time))):
            self._note(header)

    def _store_subagent(self, event: SubagentEvent) -> None:
        """Write the messages of a subagent to a file of its own, and its usage to the session."""
        inner = event.event
        while isinstance(inner, SubagentEvent):
            inner = inner.event
        if inner.run_id not in self._subagents and isinstance(inner, MessageEnd):
            envelope = replace(self._current_envelope(), agent_id=inner.run_id)
            self._subagents[inner.run_id] = SubagentFile(self._journal, envelope)
        if file := self._subagents.get(inner.run_id):
            file.store(inner)
            if isinstance(inner, AgentEnd):
                self._subagents.pop(inner.run_id).close()
        self._note_usage(inner, "subagent")

    def _note_usage(self, event: Event, source: UsageSource = "") -> None:
        """Record usage that belongs to no reply of the conversation, such as that of subagents."""
        match event:
            case UsageAdded(model=model, usage=usage):
                source = source or event.source
            case ParallelEnd(usage_beside=usage):
                model, source = "parallel", "parallel"
            case MessageEnd(message=AssistantMessage(provider=provider, model=name, usage=usage)):
                model = f"{provider}/{name}"
            case _:
                return
        if usage != Usage():
            self._note(
                UsageNote(
                    **self._at(event.time),
                    id=new_id(),
                    model=model,
                    usage=usage_facts(usage),
                    cost=cost_facts(usage.cost),
                    source=source,
                    after=self._lines.parent or "",
                )
            )

    def _note_change(self, event: Event) -> None:
        """Record a change of the model, the system prompt, the mode or the context, or the start or end of a run."""
        match event:
            case ModelChanged(spec=spec):
                self.choose(spec)
            case RequestStart(spec=spec):
                self._note_prefix(event.time)
                if not self._is_chosen:
                    self._note_model(spec, event.time)
            case ModeChanged(mode=mode):
                self._note(ModeNote(**self._at(event.time), mode=mode))
            case AgentStart(parent_run_id=parent, continuation=continuation):
                kind = continuation.kind if continuation else None
                start = RunNote(
                    **self._at(event.time),
                    phase="start",
                    loop_id=event.run_id,
                    parent_loop_id=parent or None,
                    continuation=kind,
                )
                self._note(start)
            case AgentEnd(stop_reason=stop, limit=limit):
                self._note(RunNote(**self._at(event.time), phase="end", loop_id=event.run_id, stop=stop, limit=limit))
            case _:
                if note := context_note(event, self._at(event.time), self._lines.parent or ""):
                    # A resumed session may end, or be copied, without another message.
                    self._note(note, now=not self._is_new)

    def _at(self, time: float) -> NoteOrigin:
        return {"session_id": self._session_id, "timestamp": iso(time)}

    def _note(self, line: AnyNote | JsonObject, *, now: bool = False) -> None:
        if self._has_started or now:
            self._memory.notes.append(line)
            self._write([line])
        else:
            self._early.append(line)

    def _append(self, lines: list[JsonObject]) -> None:
        """Append lines in one write, so that they are in the file together."""
        first: list[AnyNote | JsonObject] = []
        if not self._has_started:
            if self._is_new:
                header = self.prefix.header(self._current_envelope(), text_at(lines[0], "timestamp"))
                first += [header] if header else []
            first += self._early
            self._memory.notes += first
            self._has_started, self._is_new = True, False
            self._early.clear()
        self._write([*first, *lines])

    def _write(self, lines: Sequence[AnyNote | JsonObject]) -> None:
        self._journal.append(b"".join(map(to_bytes, lines)))

    def _current_envelope(self) -> Envelope:
        if self._envelope is None:
            self._envelope = Envelope(self._session_id, str(self._cwd), git_branch(self._cwd))
        return self._envelope


def _path(target: Path | SessionStore, cwd: Path, session_id: str) -> Path:
    return session_path(target, cwd, session_id) if isinstance(target, Path) else Path(f"{session_id}{SUFFIX}")


def _store_journal(store: SessionStore, session_id: str, on_problem: Callable[[str], None]) -> StoreJournal:
    # Imported late: the app writes files.
    from harness.session.stores import StoreJournal

    return StoreJournal(store, session_id, on_problem)


def _last_labels(resumed: LoadedSession) -> dict[str, JsonObject]:
    labels = {text_at(line, "type"): line for line in resumed.labels}
    # Claude Code's summary is the title of a session that has no other.
    if resumed.title and not labels.keys() & {"custom-title", "ai-title"}:
        labels["ai-title"] = automatic_title_line(resumed.session_id, resumed.title)
    return labels


def _without_secrets(spec: ModelSpec) -> ModelSpec:
    """Return the spec without credentials in its base URL."""
    url = re.sub(r"//[^/@]*@", "//", spec.base_url).partition("?")[0]
    return spec if url == spec.base_url else replace(spec, base_url=url)
