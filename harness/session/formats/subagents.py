"""Conversations of a session's subagents, read from the files next to it."""

from __future__ import annotations

from pathlib import Path

from msgspec import Struct

from harness.messages import Message
from harness.session.line_index import scan
from harness.session.paths import open_session_file, subagent_files
from harness.session.reading import object_at, parse, text_at, tool_result_of
from harness.session.session_messages import SessionMessages


class SubagentConversation(Struct, frozen=True):
    """Conversation of one subagent."""

    agent_id: str
    """Id of the subagent: that of its run."""
    path: Path
    """Its file."""
    messages: SessionMessages
    """Its messages."""
    call_id: str = ""
    """Call that started it; empty if the session does not record it."""

    @property
    def started(self) -> float:
        """Time of the first message, in seconds since the epoch."""
        first: Message | None = self.messages[0] if self.messages else None
        return first.time if first else 0.0


def subagent_conversations(session: Path) -> list[SubagentConversation]:
    """Return the conversations of a session's subagents in the order they began; files without a message are skipped.

    Raises:
        OSError: A file cannot be read.
    """
    files = subagent_files(session)
    calls = _calls_by_agent(session) if files else {}
    found: list[SubagentConversation] = []
    for path in files:
        agent_id = path.stem.removeprefix("agent-")
        messages = SessionMessages(path, scan(path, is_sidechain=True))
        if messages:
            found.append(SubagentConversation(agent_id, path, messages, calls.get(agent_id, "")))
    return sorted(found, key=lambda each: each.started)


def _calls_by_agent(session: Path) -> dict[str, str]:
    """Return the id of the call that started each subagent, from the results that name it."""
    calls: dict[str, str] = {}
    with open_session_file(session) as file:
        for line in file:
            record = parse(line) if b'"toolUseResult"' in line and b'"agentId"' in line else None
            result = tool_result_of(record) if record else None
            if record and result:
                calls[text_at(object_at(record, "toolUseResult"), "agentId")] = text_at(result, "tool_use_id")
    return calls
