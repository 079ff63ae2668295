"""Check of a session file, and the repairs that appending can make.

Nothing is ever removed from a file: unreadable lines stay in it and are skipped.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from msgspec import Struct

from harness.errors import SessionError
from harness.messages import ToolResult
from harness.session.journal import Journal
from harness.session.line_index import LineIndex, read_line, scan
from harness.session.paths import open_session_file
from harness.session.reading import parse, text_at
from harness.session.records import Envelope, placeholder_line, result_line, to_bytes
from harness.session.resume import LoadedSession, load_session

_KNOWN_NOTES = frozenset({"custom-title", "ai-title", "tag", "summary", "tombstone"})


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
    gaps: tuple[int, ...]
    """Numbers of lines before which one is missing."""
    lost: int
    """Number of missing lines that others link to."""
    torn: bool
    """True if the last line is incomplete."""
    unanswered: tuple[ToolResult, ...]
    """Results that are missing for tool calls."""
    strange: dict[str, int]
    """Number of lines of each unknown type."""
    repairs: tuple[bytes, ...]
    """Lines to append."""

    @property
    def healthy(self) -> bool:
        return not (self.garbage or self.gaps or self.torn or self.unanswered)


def examine(path: Path) -> Examination:
    """Check a session file.

    Raises:
        SessionError: The file cannot be opened, or uses a later version.
    """
    loaded = load_session(path)
    try:
        layout = scan(path)
        with open_session_file(path) as file:
            damaged = [line.number for line in layout.lines if parse(read_line(file, line)) is None]
        repairs = tuple(_repairs(loaded, layout))
    except OSError as error:
        raise SessionError(f"{path} cannot be read: {error.strerror}") from error
    kinds = Counter(text_at(other, "type") for other in layout.others)
    strange = {kind: count for kind, count in kinds.items() if kind not in _KNOWN_NOTES}
    return Examination(
        path,
        lines=layout.count,
        messages=len(loaded.messages),
        garbage=tuple(sorted([*layout.garbage, *damaged])),
        gaps=tuple(layout.gaps),
        lost=len(layout.lost),
        torn=layout.torn,
        unanswered=tuple(result for result, _ in loaded.messages.open_calls()),
        strange=strange,
        repairs=repairs,
    )


def repair(found: Examination) -> list[str]:
    """Complete an incomplete last line and add what is missing, so that every reader finds the whole conversation.

    Returns:
        A description of each repair.

    Raises:
        SessionLocked: The session is open in another process.
        SessionError: The file cannot be written.
    """
    if not (found.torn or found.repairs):
        return []
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
        (found.lost, f"added placeholders for lost lines: {found.lost}"),
    )
    return [text for count, text in counted if count]


def _repairs(loaded: LoadedSession, layout: LineIndex) -> Iterator[bytes]:
    envelope = Envelope(loaded.session_id, str(loaded.cwd))
    for lost, place in layout.lost.items():
        yield to_bytes(placeholder_line(lost, place or None, time.time(), envelope))
    results = list(loaded.messages.open_calls())
    for result, line in results:
        yield to_bytes(result_line(result, line, envelope))
    if results and not loaded.messages.open_calls_at_end():
        # The last leaf in the file is the end of the conversation; a result in the middle must not become that.
        last = next(line for line in reversed(layout.lines) if line.id == loaded.last_uuid)
        with open_session_file(loaded.path) as file:
            yield read_line(file, last).rstrip(b"\n") + b"\n"
