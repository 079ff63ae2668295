"""What is wrong with a session file, and the part of it that appending can mend.

Nothing is ever cut out of a file: what cannot be read stays in it, and is passed over on every reading.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from harness.context.normalise import NO_RESULT
from harness.errors import SessionError
from harness.lazy_dataclass import dataclass
from harness.messages import AssistantMessage, Message, Text, ToolCall, ToolResult
from harness.session.fork import chain_records
from harness.session.journal import Journal
from harness.session.lines import scan
from harness.session.reading import blocks_of, parse, text_at
from harness.session.records import Envelope, result_line, to_bytes
from harness.session.resume import load_session

_KNOWN_NOTES = frozenset({"custom-title", "ai-title", "summary", "tombstone"})


@dataclass(frozen=True, slots=True)
class Examination:
    """`unanswered` are calls anywhere without a result; `mendable` those at the very end, which can still get one."""

    path: Path
    lines: int
    messages: int
    garbage: tuple[int, ...]
    torn: bool
    unanswered: tuple[ToolCall, ...]
    mendable: tuple[ToolCall, ...]
    strange: dict[str, int]

    @property
    def healthy(self) -> bool:
        return not (self.garbage or self.torn or self.unanswered)


def examine(path: Path) -> Examination:
    """Read a session file whole.

    Raises:
        SessionError: it cannot be opened, or is of a later version.
    """
    loaded = load_session(path)
    try:
        layout, broken = scan(path), _broken_lines(path)
    except OSError as error:
        raise SessionError(f"{path} cannot be read: {error.strerror}") from error
    answered = {message.call_id for message in loaded.messages if isinstance(message, ToolResult)}
    said = [message for message in loaded.messages if not isinstance(message, ToolResult)]
    unanswered = _open_calls(said, answered)
    kinds = Counter(text_at(note, "type") for note in layout.notes)
    strange = {
        kind: count for kind, count in kinds.items() if kind not in _KNOWN_NOTES and not kind.startswith("cinch-")
    }
    return Examination(
        path,
        lines=layout.count,
        messages=len(loaded.messages),
        garbage=broken[:-1] if layout.torn else broken,
        torn=layout.torn,
        unanswered=unanswered,
        mendable=_open_calls(said[-1:], answered),
        strange=strange,
    )


def mend(found: Examination) -> list[str]:
    """Close a torn last line and answer the calls at the end; hands back what was done.

    Raises:
        SessionLocked: the session is open in another process.
        SessionError: the file cannot be written.
    """
    problems: list[str] = []
    journal = Journal(found.path, problems.append)
    done: list[str] = []
    try:
        journal.acquire()
        if found.torn:
            journal.append(b"")
            done.append("closed the torn last line")
        for line in _answers(found):
            journal.append(line)
            done.append("answered an interrupted call")
    except OSError as error:
        raise SessionError(f"{found.path} cannot be written: {error.strerror}") from error
    finally:
        journal.close()
    if problems:
        raise SessionError(problems[0])
    return done


def _open_calls(messages: Sequence[Message], answered: set[str]) -> tuple[ToolCall, ...]:
    replies = (message for message in messages if isinstance(message, AssistantMessage))
    return tuple(call for reply in replies for call in reply.tool_calls if call.id not in answered)


def _broken_lines(path: Path) -> tuple[int, ...]:
    with path.open("rb", buffering=1 << 20) as file:
        return tuple(number for number, line in enumerate(file, 1) if not line.isspace() and parse(line) is None)


def _answers(found: Examination) -> list[bytes]:
    """A result line for each call that can still get one; none for calls of earlier replies."""
    wanted = {call.id: call for call in found.mendable}
    lines: list[bytes] = []
    for record in chain_records(found.path) if wanted else ():
        for block in blocks_of(record):
            call = wanted.get(text_at(block, "id")) if block.get("type") == "tool_use" else None
            if call:
                result = ToolResult(call.id, call.name, (Text(NO_RESULT),), is_error=True)
                envelope = Envelope(found.path.stem, text_at(record, "cwd"), text_at(record, "gitBranch"))
                lines.append(to_bytes(result_line(result, text_at(record, "uuid"), envelope)))
    return lines
