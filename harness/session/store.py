"""Writes a session to disk as it happens: a subscriber of the bus.

The bus is synchronous, so a line is in the file before the loop takes its next step: a user message before its request
is sent, a tool result before the next request.
"""

from __future__ import annotations

import logging
import re
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

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
from harness.session.chain import Chain
from harness.session.journal import Journal
from harness.session.memory import SessionMemory
from harness.session.paths import git_branch, session_path
from harness.session.records import Envelope, header_line, note_line, title_line, to_bytes
from harness.session.reply_lines import usage_line

if TYPE_CHECKING:
    from harness.session.resume import LoadedSession

logger = logging.getLogger(__name__)

# Looked up once an event, so that a streamed token costs next to nothing here.
_STORED: frozenset[type] = frozenset(
    {
        AgentStart,
        AgentEnd,
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
    }
)
# Readers look for the title in the last 64 KiB of a file.
_TITLE_EVERY = 48 * 1024


class SessionStore:
    """Appends what happens to the session's file; nothing is created before the first message.

    `resumed` continues a loaded session in its own file. `on_problem` hears when saving fails and when it works again;
    `store` itself never raises.
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
        earlier, notes = (resumed.messages, resumed.notes) if resumed else (None, ())
        self._memory = SessionMemory(self.path, earlier, notes)
        self._journal = Journal(self.path, on_problem, self._memory.lost_lines)
        self._resumed = resumed
        self._chain = Chain(resumed.last_uuid if resumed else None)
        self._title = resumed.title if resumed else ""
        self._title_at = 0
        self._spec: ModelSpec | None = resumed.spec if resumed else None
        self._is_chosen = False
        self._is_new = resumed is None
        self._begun = False
        self._early: list[JsonObject] = []
        self._envelope: Envelope | None = None

    @property
    def is_saved(self) -> bool:
        """Whether all that happened is in the file."""
        return self._journal.is_saved

    def acquire(self) -> None:
        """Take the writer's place of a session that exists. A disk that refuses is told of at the first message.

        Raises:
            SessionLocked: another process has it; open read-only or fork.
        """
        with suppress(OSError):
            self._journal.acquire()

    def store(self, event: Event) -> None:
        """Write an event down, if it is one that a session keeps."""
        if type(event) in _STORED:
            self._store(event)

    def choose(self, spec: ModelSpec) -> None:
        """Go on with this model when the session is resumed, whichever others answer a request. Without this, and
        without a change of model, it is the last that was asked."""
        self._is_chosen = True
        self._note_model(spec, time.time())

    def rename(self, title: str) -> None:
        """Give the session a title; the last one counts."""
        self._title = " ".join(title.split())
        self._title_at = self._journal.size
        self._note(title_line(self._session_id, self._title), now=not self._is_new)

    def restart(self) -> None:
        """Let the next message begin a new conversation in the same file; the earlier one stays in it."""
        self._chain = Chain(None)
        self._memory.restart()

    def flush(self) -> None:
        """Try again what could not be written."""
        self._journal.flush()

    def close(self) -> None:
        """Write, confirm and let the next writer in; waits for the disk."""
        self._journal.close()

    def _store(self, event: Event) -> None:
        match event:
            case MessageEnd(message=message):
                self._message(message, event.time)
            case ToolExecutionEnd(result=ToolResult() as result) | HookRan(result=ToolResult() as result):
                self._append_user(result)
            case TurnEnd():
                self._end_turn()
            case ModelChanged(spec=spec):
                self._is_chosen = True
                self._note_model(spec, event.time)
            case RequestStart(spec=spec):
                if not self._is_chosen:
                    self._note_model(spec, event.time)
            case UsageAdded() | ParallelEnd() | SubagentEvent():
                self._note_usage(event)
            case _:
                self._note_other(event)

    def _message(self, message: Message, time: float) -> None:
        match message:
            case UserMessage():
                self._envelope = None  # the branch may have changed since the last prompt
                self._append_user(message)
            case AssistantMessage():
                self._append_user(message)
            case ToolResult():
                # Written when its call ended, unless it is part of a prompt.
                if message.call_id in self._chain.call_lines:
                    self._append_user(message)
            case CustomMessage(kind, data):
                self._note(note_line("custom", self._session_id, time, {"kind": kind, "data": data}))

    def _append_user(self, message: ModelMessage) -> None:
        lines = [] if self._begun else self._missing_results()
        self._memory.add(message, self._current_envelope())
        self._append([*lines, *self._chain.lines(message, self._current_envelope())])

    def _missing_results(self) -> list[JsonObject]:
        """Lines for the calls that a crash left without a result at the end of the resumed session."""
        if self._resumed is None or self._chain.parent != self._resumed.last_uuid:
            return []
        lines: list[JsonObject] = []
        for result, line in self._resumed.messages.open_calls_at_end():
            self._chain.call_lines[result.call_id] = line
            self._memory.add(result, self._current_envelope())
            lines += self._chain.lines(result, self._current_envelope())
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
        """Keep usage that no reply of the conversation carries, that of a sub-agent's replies included."""
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
            self._note(usage_line(self._session_id, event.time, model, usage, self._chain.parent))

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
        if self._begun or now:
            self._memory.add_notes([line])
            self._journal.append(to_bytes(line))
        else:
            self._early.append(line)

    def _append(self, lines: list[JsonObject]) -> None:
        """One write for all the lines, so that they are in the file together."""
        if not self._begun:
            header = [header_line(self._current_envelope(), lines[0])] if self._is_new else []
            self._memory.add_notes([*header, *self._early])
            lines = [*header, *self._early, *lines]
            self._begun, self._is_new = True, False
            self._early.clear()
        self._journal.append(b"".join(to_bytes(line) for line in lines))

    def _current_envelope(self) -> Envelope:
        if self._envelope is None:
            self._envelope = Envelope(self._session_id, str(self._cwd), git_branch(self._cwd))
        return self._envelope


def _without_secrets(spec: ModelSpec) -> ModelSpec:
    """The spec with an address that holds neither a password nor a key in its query."""
    address = re.sub(r"//[^/@]*@", "//", spec.base_url).partition("?")[0]
    return spec if address == spec.base_url else replace(spec, base_url=address)
