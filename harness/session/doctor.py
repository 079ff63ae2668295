"""Examination of a session file, and the repairs that appending can make.

Nothing is ever cut out of a file: what cannot be read stays in it and is skipped on every reading.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from harness.errors import SessionError
from harness.lazy_dataclass import dataclass
from harness.messages import ToolResult
from harness.session.journal import Journal
from harness.session.line_index import LineIndex, read_line, scan
from harness.session.paths import open_session_file
from harness.session.reading import parse, text_at
from harness.session.records import Envelope, placeholder_line, result_line, to_bytes
from harness.session.resume import LoadedSession, load_session

_KNOWN_NOTES = frozenset({"custom-title", "ai-title", "summary", "tombstone"})


@dataclass(frozen=True, slots=True)
class Examination:
    """Findings about one file.

    `garbage` are the numbers of lines that cannot be read, `gaps` those of lines before which one is missing.
    `lost` is how many lines others hang under and are missing; `unanswered` are the results that tool calls lack.
    `repairs` are the lines that add all that can be added.
    """

    path: Path
    lines: int
    messages: int
    garbage: tuple[int, ...]
    gaps: tuple[int, ...]
    lost: int
    torn: bool
    unanswered: tuple[ToolResult, ...]
    strange: dict[str, int]
    repairs: tuple[bytes, ...]

    @property
    def healthy(self) -> bool:
        return not (self.garbage or self.gaps or self.torn or self.unanswered)


def examine(path: Path) -> Examination:
    """Read a session file whole.

    Raises:
        SessionError: it cannot be opened, or is of a later version.
    """
    loaded = load_session(path)
    try:
        layout = scan(path)
        damaged = _damaged_lines(path, layout)
        repairs = tuple(_repairs(loaded, layout))
    except OSError as error:
        raise SessionError(f"{path} cannot be read: {error.strerror}") from error
    kinds = Counter(text_at(note, "type") for note in layout.notes)
    strange = {
        kind: count for kind, count in kinds.items() if kind not in _KNOWN_NOTES and not kind.startswith("cinch-")
    }
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
    """Close a torn last line, and add what is missing, so that every reader finds the whole conversation.

    Returns:
        A sentence for each repair.

    Raises:
        SessionLocked: the session is open in another process.
        SessionError: the file cannot be written.
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
    return _done(found)


def _damaged_lines(path: Path, layout: LineIndex) -> list[int]:
    """The numbers of lines that have a place in the conversation and cannot be read."""
    with open_session_file(path) as file:
        return [line.number for line in layout.lines if parse(read_line(file, line)) is None]


def _done(found: Examination) -> list[str]:
    counted = (
        (found.torn, "closed the torn last line"),
        (len(found.unanswered), f"added the missing results of tool calls: {len(found.unanswered)}"),
        (found.lost, f"marked the places of lost lines: {found.lost}"),
    )
    return [sentence for count, sentence in counted if count]


def _repairs(loaded: LoadedSession, layout: LineIndex) -> Iterator[bytes]:
    envelope = Envelope(loaded.session_id, str(loaded.cwd))
    for lost, place in layout.lost.items():
        yield to_bytes(placeholder_line(lost, place or None, time.time(), envelope))
    results = list(loaded.messages.open_calls())
    for result, line in results:
        yield to_bytes(result_line(result, line, envelope))
    if results and not loaded.messages.open_calls_at_end():
        # The last leaf in the file is the end of the conversation, and a result in its middle must not become that.
        yield _copy_of(loaded.path, layout, loaded.last_uuid)


def _copy_of(path: Path, layout: LineIndex, line_id: str | None) -> bytes:
    line = next(line for line in reversed(layout.lines) if line.id == line_id)
    with open_session_file(path) as file:
        return read_line(file, line).rstrip(b"\n") + b"\n"
