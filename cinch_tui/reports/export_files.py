"""Export of a session in all formats, to a file, a folder or a stream."""

from __future__ import annotations

import errno
import json
import os
import re
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct

from cinch_tui.reports.session_export import as_markdown, as_text, heading
from harness.errors import CinchError, SessionError
from harness.messages import JsonObject
from harness.session.records import to_bytes, writable

if TYPE_CHECKING:
    from cinch_tui.assembly.assembly import Assembly
    from harness.session.resume import LoadedSession


class ExportFormat(Struct, frozen=True):
    """One format."""

    title: str
    """Description for the user."""
    suffix: str
    """Suffix of its files."""


FORMATS: Mapping[str, ExportFormat] = {
    "md": ExportFormat("Markdown", ".md"),
    "html": ExportFormat("one-file HTML page with search", ".html"),
    "json": ExportFormat("JSON with every line of the session", ".json"),
    "claude": ExportFormat("session file of Claude Code", ".jsonl"),
    "phi": ExportFormat("session tree of phi-core", ".json"),
    "text": ExportFormat("plain text", ".txt"),
}
_BY_SUFFIX = {".md": "md", ".html": "html", ".htm": "html", ".json": "json", ".jsonl": "claude", ".txt": "text"}
_NOT_IN_NAMES = re.compile(r"[^A-Za-z0-9]+")
_MOST_TITLE_CHARS = 40


def format_for(name: str, target: Path | None) -> str:
    """Return the name of the format: the given one, else that of the file's suffix, else Markdown."""
    return name or (_BY_SUFFIX.get(target.suffix.lower(), "md") if target else "md")


def export_text(session: LoadedSession, name: str) -> Iterator[str]:
    """Yield a session in the format of this name.

    Raises:
        OSError: A file of the session cannot be read.
    """
    match name:
        case "html":
            from cinch_tui.reports.page.document import html_page

            yield from html_page(session)
        case "json":
            from harness.session.formats.document import json_document

            yield from json_document(session)
        case "claude":
            from harness.session.formats.claude import claude_records

            yield from (to_bytes(record).decode() for record in claude_records(session))
        case "phi":
            from harness.session.formats.phi import phi_sessions

            yield _pretty(phi_sessions(session)[0])
        case _:
            yield from as_text(session) if name == "text" else as_markdown(session)


def export_files(session: LoadedSession, name: str, target: Path, *, force: bool = False) -> list[Path]:
    """Write a session to a file, or to files in a folder, accessible to their owner only.

    Args:
        session: The session.
        name: Name of the format.
        target: A file; or a folder, which in the formats `claude` and `phi` receives the subagents as well.
        force: Replace existing files.

    Returns:
        The files, that of the session first.

    Raises:
        SessionError: A file exists and `force` is False, or it cannot be written.
    """
    written: list[Path] = []
    try:
        for path, parts in _files(session, name, target):
            _write(path, parts, force=force)
            written.append(path)
    except FileExistsError as error:
        raise SessionError(f"{error.filename} exists; choose another name or replace it with --force") from error
    except OSError as error:
        raise SessionError(_problem(error, target)) from error
    return written


def _problem(error: OSError, target: Path) -> str:
    path = Path(error.filename or target)
    if not path.parent.is_dir():
        return f"{path} cannot be written: the folder {path.parent} does not exist"
    return f"{path} cannot be exported: {error.strerror}"


def export_conversation(assembly: Assembly, name: str, target: str) -> Path:
    """Write the conversation of an agent to a new file; an existing one is never replaced.

    Args:
        assembly: The agent with its session; without a session file, its history is written.
        name: Name of the format; empty: that of the file's suffix.
        target: File or folder, relative to the project; empty: a file in the project. A folder that ends with `/` is
            created.

    Returns:
        The file.

    Raises:
        CinchError: There is no message yet, the format is unknown, or the file cannot be written.
    """
    path = assembly.options.cwd / Path(target).expanduser()
    if target.endswith("/"):
        make_folder(path)
    elif target and not name and not path.is_dir() and path.suffix.lower() not in _BY_SUFFIX:
        raise CinchError(
            f"{target} is neither a format nor a file with a known suffix; formats: {', '.join(FORMATS)}; "
            f"suffixes: {', '.join(_BY_SUFFIX)}"
        )
    name = format_for(name, path if target else None)
    with tempfile.TemporaryDirectory() as folder:
        session = _session_of(assembly, Path(folder))
        if path.is_dir() and not (target and name in ("claude", "phi")):
            path /= default_name(session, name)
        return export_files(session, name, path if path.is_dir() else _free_name(path))[0]


def make_folder(folder: Path) -> None:
    """Create a folder for exports.

    Raises:
        SessionError: It cannot be created.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise SessionError(f"{folder} cannot be created: {error.strerror}") from error


def _session_of(assembly: Assembly, folder: Path) -> LoadedSession:
    from harness.session.resume import load_session

    saved = assembly.session_file
    if saved is not None and saved.exists():
        return load_session(saved)
    from harness.session.fork import create_session_file
    from harness.session.formats.foreign import ForeignSession

    messages = assembly.agent.history.messages
    if not messages:
        raise CinchError("there is no message to export yet")
    path = folder / f"{assembly.agent.session_id}.jsonl"
    create_session_file(path, ForeignSession(list(messages), cwd=str(assembly.options.cwd)).lines(path))
    return load_session(path)


def _free_name(target: Path) -> Path:
    """Return a path at which nothing exists: `target`, or the same with a number."""
    numbers = (target.with_name(f"{target.stem}-{number}{target.suffix}") for number in range(2, 10_000))
    return next((path for path in (target, *numbers) if not os.path.lexists(path)), target)


def default_name(session: LoadedSession, name: str) -> str:
    """Return a file name for an export: the title and the start of the id."""
    words = _NOT_IN_NAMES.sub("-", heading(session)).strip("-").lower()[:_MOST_TITLE_CHARS].rstrip("-")
    return f"{words or 'session'}-{session.session_id[:8]}{FORMATS[name].suffix}"


def _files(session: LoadedSession, name: str, target: Path) -> Iterator[tuple[Path, Iterable[str]]]:
    """Yield the files of an export, with their contents."""
    if not target.is_dir():
        yield target, export_text(session, name)
    elif name == "claude":
        yield from _claude_files(session, target / f"{session.session_id}.jsonl")
    elif name == "phi":
        from harness.session.formats.phi import phi_sessions

        for record in phi_sessions(session):
            yield target / f"{_NOT_IN_NAMES.sub('-', str(record['session_id']))}.json", [_pretty(record)]
    else:
        yield target / default_name(session, name), export_text(session, name)


def _claude_files(session: LoadedSession, main: Path) -> Iterator[tuple[Path, Iterable[str]]]:
    from harness.session.paths import subagent_files, subagent_path

    yield main, export_text(session, "claude")
    for path in subagent_files(session.path):
        copy = subagent_path(main, path.stem.removeprefix("agent-"))
        copy.parent.mkdir(parents=True, exist_ok=True)
        yield copy, _lines_of(path)


def _lines_of(path: Path) -> Iterator[str]:
    with path.open(encoding="utf-8", errors="replace") as file:
        yield from file


def _pretty(value: JsonObject) -> str:
    return json.dumps(writable(value), ensure_ascii=False, indent=2) + "\n"


def _write(path: Path, parts: Iterable[str], *, force: bool) -> None:
    """Write a file that is complete when it appears under its name.

    Raises:
        OSError: It exists and `force` is False, or a file cannot be read or written.
    """
    if not force and os.path.lexists(path):
        raise _exists(path)
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        temporary.unlink(missing_ok=True)
        with os.fdopen(os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
            file.writelines(part.encode("utf-8", "replace") for part in parts)
        _publish(temporary, path, force=force)
    except OSError as error:
        if error.filename == str(temporary):
            error.filename = str(path)
        raise
    finally:
        with suppress(OSError):
            temporary.unlink(missing_ok=True)


def _exists(path: Path) -> FileExistsError:
    return FileExistsError(errno.EEXIST, "the file exists", str(path))


def _publish(temporary: Path, path: Path, *, force: bool) -> None:
    """Give a complete file its name; without `force`, never that of a file which appeared in the meantime."""
    if not force:
        try:
            os.link(temporary, path)
        except OSError:  # a file system without hard links
            if os.path.lexists(path):
                raise _exists(path) from None
        else:
            return
    temporary.replace(path)
