"""Check of a session file, and the repairs that appending can make.

Nothing is ever removed from a file: unreadable lines stay in it and are skipped.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from msgspec import Struct

from harness.errors import SessionError
from harness.messages import AssistantMessage, JsonObject, ToolResult
from harness.session.journal import Journal
from harness.session.line_index import LineIndex, read_line, scan
from harness.session.notes import KNOWN_TYPES, LABELS, AnyNote, RewindNote
from harness.session.paths import is_subagent_file, open_session_file, subagent_files
from harness.session.reading import parse, text_at
from harness.session.records import Envelope, iso, placeholder_line, result_line, to_bytes, tombstone_line
from harness.session.resume import LoadedSession, load_session


class Examination(Struct, frozen=True):
    """Findings about one file."""

    path: Path
    """The file."""
    lines: int
    """Number of lines."""
    messages: int
    """Number of messages."""
    garbage: tuple[int, ...]
    """Numbers of lines that cannot be read."""
    cut: tuple[int, ...]
    """Numbers of lines whose end is missing: a crash interrupted their writing, and nothing links to them."""
    gaps: tuple[int, ...]
    """Numbers of lines before which one is missing."""
    lost: int
    """Number of missing lines that others link to."""
    torn: bool
    """True if the last line is incomplete."""
    joined: tuple[int, ...]
    """Numbers of lines that contain several: other programs cannot read them."""
    duplicates: int
    """Number of lines that repeat an earlier one; they are read once."""
    unanswered: tuple[ToolResult, ...]
    """Results that are missing for tool calls."""
    repeated: tuple[str, ...]
    """Uuids of results of calls that have an earlier one."""
    strange: dict[str, int]
    """Number of lines of each unknown type."""
    repairs: tuple[bytes, ...]
    """Lines to append."""
    subagents: tuple[Examination, ...] = ()
    """Findings about the files of its subagents."""

    @property
    def healthy(self) -> bool:
        """True if nothing is lost and every program reads the same conversation."""
        damaged = self.garbage or self.gaps or self.lost or self.torn or self.joined or self.unanswered or self.repeated
        return not damaged and all(each.healthy for each in self.subagents)


def examine(path: Path) -> Examination:
    """Check a session file and those of its subagents, or the file of one subagent.

    Raises:
        SessionError: The file cannot be opened, or uses a later version.
    """
    loaded = load_session(path)
    try:
        layout = scan(path, is_sidechain=is_subagent_file(path))
        garbage, cut = _unreadable(path, layout)
        joined = _joined_lines(path, layout)
        records = [record for _, record in joined]
        subagents = tuple(map(examine, subagent_files(path)))
    except OSError as error:
        raise SessionError(f"{path} cannot be read: {error.strerror}") from error
    kinds = Counter(text_at(other, "type") for other in layout.others)
    repeated = _repeated_results(loaded)
    return Examination(
        path,
        lines=layout.count,
        messages=len(loaded.messages),
        garbage=garbage,
        cut=cut,
        gaps=tuple(layout.gaps),
        lost=len(layout.lost),
        torn=layout.torn,
        joined=tuple(sorted({number for number, _ in joined})),
        duplicates=layout.duplicates,
        unanswered=tuple(result for result, _ in loaded.messages.missing_results()),
        repeated=repeated,
        strange={kind: count for kind, count in kinds.items() if kind not in KNOWN_TYPES},
        repairs=tuple(map(to_bytes, _repairs(loaded, layout, repeated, records))),
        subagents=subagents,
    )


def repair(found: Examination) -> list[str]:
    """Complete an incomplete last line and add what is missing, so that every reader finds the whole conversation.

    Returns:
        A description of each repair.

    Raises:
        SessionLocked: The session is open in another process.
        SessionError: The file cannot be written.
    """
    done = [f"{each.path.stem}: {text}" for each in found.subagents for text in repair(each)]
    if not (found.torn or found.repairs):
        return done
    problems: list[str] = []
    journal = Journal(found.path, problems.append)
    try:
        journal.acquire()
        journal.append(b"".join(found.repairs))
    except OSError as error:
        raise SessionError(f"{found.path} cannot be written: {error.strerror}") from error
    finally:
        journal.close()
    if problems:
        raise SessionError(problems[0])
    counted = (
        (found.torn, "completed the torn last line"),
        (len(found.unanswered), f"added the missing results of tool calls: {len(found.unanswered)}"),
        (len(found.repeated), f"marked repeated results as deleted: {len(found.repeated)}"),
        (found.lost, f"added placeholders for lost lines: {found.lost}"),
        (len(found.joined), f"wrote joined lines again, each as its own line: {len(found.joined)}"),
    )
    return [*(text for count, text in counted if count), *done]


def repair_subagents(session: Path) -> None:
    """Repair the files of a session's subagents as far as possible. These conversations are never continued."""
    for path in subagent_files(session):
        with suppress(SessionError):
            repair(examine(path))


def completing_lines(loaded: LoadedSession, envelope: Envelope) -> tuple[list[JsonObject | AnyNote], str | None]:
    """Return lines that give every open call a result, and the line that the next message links to."""
    at_end = {result.id for result, _ in loaded.messages.open_calls_at_end()}
    # The last line must be the end of the conversation.
    missing = sorted(loaded.messages.missing_results(), key=lambda each: each[0].id in at_end)
    lines: list[JsonObject | AnyNote] = [result_line(result, line, envelope) for result, line in missing]
    return (lines, missing[-1][0].id) if at_end else ([*lines, *_end_of(loaded, envelope)], loaded.last_uuid)


def _end_of(loaded: LoadedSession, envelope: Envelope) -> Iterator[JsonObject | AnyNote]:
    """Yield lines that make the last message the end of the conversation again: for us, and for other programs."""
    leaf = loaded.last_uuid or ""
    yield RewindNote(session_id=envelope.session_id, timestamp=iso(time.time()), leaf=leaf)
    if line := loaded.messages.raw_line(leaf):
        yield line


def _repairs(
    loaded: LoadedSession, layout: LineIndex, repeated: tuple[str, ...], joined: list[JsonObject]
) -> Iterator[JsonObject | AnyNote]:
    envelope = _envelope_of(loaded)
    for lost, place in layout.lost.items():
        yield placeholder_line(lost, place or None, time.time(), envelope)
    yield from (tombstone_line(uuid, envelope) for uuid in repeated)
    yield from joined
    if loaded.messages.missing_results():
        yield from completing_lines(loaded, envelope)[0]
    elif any("uuid" in line for line in joined):
        yield from _end_of(loaded, envelope)


def _envelope_of(loaded: LoadedSession) -> Envelope:
    if is_subagent_file(loaded.path):
        agent_id = loaded.path.stem.removeprefix("agent-")
        return Envelope(loaded.path.parent.parent.name, str(loaded.cwd), agent_id=agent_id)
    return Envelope(loaded.session_id, str(loaded.cwd))


def _unreadable(path: Path, layout: LineIndex) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Return the numbers of the lines that cannot be read, and of those among them whose end is missing."""
    with open_session_file(path) as file:
        damaged = [line.number for line in layout.lines if parse(read_line(file, line)) is None]
        file.seek(0)
        wanted = set(layout.garbage)
        lines = {number: line for number, line in enumerate(file, 1) if number in wanted}
    cut = {number for number, line in lines.items() if line.startswith(b'{"') and not line.endswith(b"}\n")}
    # Of a line that others link to, more is missing than an unfinished message.
    cut = cut if not layout.lost else set[int]()
    return tuple(sorted({*wanted - cut, *damaged})), tuple(sorted(cut))


def _repeated_results(loaded: LoadedSession) -> tuple[str, ...]:
    repeated: list[str] = []
    answered: set[str] = set()
    for message in loaded.messages:
        if isinstance(message, AssistantMessage):
            answered.clear()
        elif isinstance(message, ToolResult) and message.call_id:  # empty: the line is damaged
            if message.call_id in answered:
                repeated.append(message.id)
            answered.add(message.call_id)
    return tuple(repeated)


def _joined_lines(path: Path, layout: LineIndex) -> list[tuple[int, JsonObject]]:
    """Return the messages, titles and tags that only exist within a longer line, each with the number of that line."""
    joined = set(layout.joined)
    lines = [line for line in layout.by_id.values() if line.number in joined]
    with open_session_file(path) as file:
        found = [(line.number, record) for line in lines if (record := parse(read_line(file, line)))]
    return [*found, *(last for kind, last in layout.last_of_kind.items() if kind in LABELS and last[0] in joined)]
