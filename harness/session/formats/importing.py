"""Import of session files of any known format, detected by their contents."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

from msgspec import Struct

from harness.errors import SessionError, SessionMissing
from harness.messages import JsonObject, new_id
from harness.session.fork import create_session_file, fork_session
from harness.session.formats.codex import codex_records, is_codex, read_codex
from harness.session.formats.foreign import ForeignSession
from harness.session.formats.swink import is_swink, read_swink
from harness.session.line_index import conversation, scan
from harness.session.notes import KNOWN_TYPES
from harness.session.paths import SUFFIX, open_session_file
from harness.session.reading import parse, text_at

_PROBED_LINES = 20
_FOREIGN: dict[str, tuple[Callable[[JsonObject], bool], Callable[[Iterable[JsonObject | None]], ForeignSession]]] = {
    "codex": (is_codex, read_codex),
    "swink": (is_swink, read_swink),
}
FORMATS = {"claude": "Claude Code or cinch", "codex": "Codex (rollout-….jsonl)", "swink": "swink-agent"}
"""Names of the formats, with the programs that write them."""


class Imported(Struct, frozen=True):
    """Result of an import."""

    path: Path
    """The new session file."""
    format: str
    """Name of the format."""
    damaged: int = 0
    """Number of lines that could not be read."""
    left_out: dict[str, int] = {}
    """Contents that were not imported, with their numbers."""


def import_session(path: Path, folder: Path, name: str = "auto", cwd: Path | None = None) -> Imported:
    """Create a session from a file of this or another program; the file is unchanged.

    Args:
        path: The file.
        folder: Folder of the new session.
        name: Name of the format; `auto` detects it.
        cwd: Folder of the project, for files that do not record it.

    Raises:
        SessionMissing: The file does not exist.
        SessionError: Its format is unknown, it contains no conversation, or the session cannot be written.
    """
    try:
        name = _detected(path) if name == "auto" else name
        if name == "claude":
            return _import_claude(path, folder)
        return _import_foreign(path, folder, name, cwd or folder)
    except FileNotFoundError as error:
        raise SessionMissing(f"{path} does not exist") from error
    except OSError as error:
        raise SessionError(f"{path} cannot be read: {error.strerror}") from error


def _detected(path: Path) -> str:
    records = [record for record in itertools.islice(_records(path), _PROBED_LINES) if record is not None]
    if any(map(_is_claude, records)):
        return "claude"
    for name, (is_format, _) in _FOREIGN.items():
        if any(map(is_format, records)):
            return name
    known = ", ".join(f"{name} ({programs})" for name, programs in FORMATS.items())
    raise SessionError(f"{path} is not a session file of a known format; known formats: {known}")


def _is_claude(record: JsonObject) -> bool:
    is_message = text_at(record, "type") in ("user", "assistant") and "message" in record
    return is_message or text_at(record, "type").startswith("cinch-") or "sessionId" in record or "leafUuid" in record


def _records(path: Path) -> Iterator[JsonObject | None]:
    """Yield the lines of a file as objects; None for one that cannot be read."""
    with open_session_file(path) as file:
        for line in file:
            if not line.isspace():
                yield parse(line)


def _import_foreign(path: Path, folder: Path, name: str, cwd: Path) -> Imported:
    session = _FOREIGN[name][1](codex_records(path) if name == "codex" else _records(path))
    target = folder / f"{new_id()}{SUFFIX}"
    if not session.entries:
        raise SessionError(f"{path} contains no conversation")
    session.cwd = session.cwd or str(cwd)
    create_session_file(target, session.lines(target))
    return Imported(target, name, session.damaged, dict(session.left_out))


def _import_claude(path: Path, folder: Path) -> Imported:
    made = fork_session(path, new_id(), folder)
    layout = scan(path)
    kinds = Counter(text_at(record, "type") or "line without a type" for record in layout.others)
    left_out = {kind: count for kind, count in kinds.items() if kind not in KNOWN_TYPES}
    branch = {line.id for group in conversation(layout) for line in group}
    if others := [line for line in layout.lines if line.kind in ("user", "assistant") and line.id not in branch]:
        left_out["line outside the current branch, or before a compaction"] = len(others)
    return Imported(made, "claude", len(layout.garbage) + layout.torn, left_out)
