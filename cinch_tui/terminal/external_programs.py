"""The user's editor and pager."""

from __future__ import annotations

import os
import shlex
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from types import FrameType
from typing import TypeAlias

from msgspec import Struct

from harness.errors import CinchError

DEFAULT_EDITORS = ("vi", "nano")
DEFAULT_PAGERS = ("less", "more")


class EditedText(Struct, frozen=True):
    text: str


class EmptyText(Struct, frozen=True):
    """The file was left empty: do not send anything."""


class UnchangedText(Struct, frozen=True):
    """The editor was closed without changing or saving the text."""


class EditorFailed(Struct, frozen=True):
    """The editor failed."""

    reason: str
    """Explanation for the user."""
    text: str
    """The saved text, or the draft if nothing was saved."""


EditorResult: TypeAlias = EditedText | EmptyText | UnchangedText | EditorFailed


Suspend: TypeAlias = Callable[[], AbstractContextManager[None]]
"""Releases the terminal, as `CinchApp.suspend`; raises an `OSError` if it cannot. The app blocks meanwhile: it must not
draw over the program."""


def edit_prompt(draft: str, command: str, suspend: Suspend) -> EditorResult:
    """Let the user edit a prompt draft as in `edit_text`; trailing blanks are removed."""
    match edit_text(draft, "prompt.md", command, suspend):
        case EditedText(text):
            return EditedText(text.rstrip()) if text.strip() else EmptyText()
        case EditorFailed(reason, text):
            return EditorFailed(reason, text.rstrip())
        case other:
            return other


def edit_text(draft: str, name: str, command: str, suspend: Suspend) -> EditorResult:
    """Let the user edit a draft in an editor.

    Args:
        draft: initial text.
        name: file name; editors derive the language from it.
        command: editor command; empty: $EDITOR, $VISUAL or a common editor.
        suspend: releases the terminal.
    """
    try:
        argv = _installed_editor(command)
        with _start_errors("editor", argv), _private_file(name, draft) as file:
            before = _state(file)
            with suspend():
                status = run_in_terminal([*argv, str(file)])
            is_untouched = draft != "" and _state(file) == before
            text = _read(file, draft)
    except CinchError as error:
        return EditorFailed(str(error), draft)
    return UnchangedText() if is_untouched and not status and text == draft else _result(argv[0], status, text)


def changed_text(result: EditorResult, clean: Callable[[str], str] = str.strip) -> str:
    """Return the edited text, cleaned, as a rule of blanks around it; empty if it was not changed.

    Raises:
        CinchError: The editor failed.
    """
    match result:
        case EditedText(text):
            return clean(text)
        case EditorFailed(reason):
            raise CinchError(reason)
        case _:
            return ""


def edit_at(file: Path, line: int, command: str, suspend: Suspend) -> str:
    """Open a file in the user's editor at a line; return an error message, or an empty string."""
    try:
        argv = _installed_editor(command)
        with _start_errors("editor", argv), suspend():
            status = run_in_terminal([*argv, *at_line(argv[0], file, line)])
    except CinchError as error:
        return str(error)
    return f"The editor {argv[0]} exited with status {status}." if status else ""


_WITH_COLON = ("code", "codium", "cursor", "subl", "hx", "helix", "zed")
_WITH_PLUS = ("vi", "vim", "nvim", "nano", "emacs", "emacsclient", "micro", "kak", "joe", "pico", "ex", "mg")


def at_line(editor: str, file: Path, line: int) -> list[str]:
    """Return the arguments that open the file at a line; unknown editors get the file alone."""
    name = Path(editor).name
    if not line or name not in (*_WITH_COLON, *_WITH_PLUS):
        return [str(file)]
    if name in _WITH_PLUS:
        return [f"+{line}", str(file)]
    place = f"{file}:{line}"
    return ["-g", place] if name in ("code", "codium", "cursor") else [place]


def page(text: str, suspend: Suspend) -> str:
    """Show the text until the user quits the pager; return an error message, or an empty string."""
    try:
        argv = pager_command(os.environ)
    except ValueError as error:
        return f"Invalid $PAGER: {error}."
    if not argv or shutil.which(argv[0]) is None:
        return f"Pager {argv[0]} not found; set $PAGER." if argv else "No pager found; set $PAGER."
    try:
        private_file = _private_file("conversation.txt", text, errors="replace")
        with _start_errors("pager", argv), private_file as file, suspend():
            status = run_in_terminal([*argv, str(file)])
    except CinchError as error:
        return str(error)
    return f"The pager {argv[0]} exited with status {status}." if status else ""


def pager_command(environ: Mapping[str, str]) -> list[str]:
    """Return the pager command as a list of arguments; empty if none was found. `less` starts at the end.

    Raises:
        ValueError: unclosed quotes.
    """
    argv = shlex.split(environ.get("PAGER", ""))
    argv = argv or [name for name in DEFAULT_PAGERS if shutil.which(name)][:1]
    # With -F, as set by git and others, less would quit immediately after a short text.
    return [*argv, "-+F", "+G"] if argv and Path(argv[0]).name == "less" else argv


def _installed_editor(command: str) -> list[str]:
    try:
        argv = editor_command(command, os.environ)
    except ValueError as error:
        raise CinchError(f"Invalid editor command: {error}.") from error
    if argv and shutil.which(argv[0]):
        return argv
    problem = f"Editor {argv[0]} not found" if argv else "No editor found"
    raise CinchError(f"{problem}; set ui.editor in the configuration, or $EDITOR.")


@contextmanager
def _start_errors(kind: str, argv: Sequence[str]) -> Generator[None, None, None]:
    """Convert the errors of starting a program to `CinchError`."""
    try:
        yield
    except (OSError, UnicodeError) as error:
        raise CinchError(f"Could not start the {kind} {argv[0]}: {error}.") from error


@contextmanager
def _private_file(name: str, text: str, errors: str = "strict") -> Generator[Path, None, None]:
    """Create a temporary file in a folder of its own, so that backup and swap files are removed with it."""
    with tempfile.TemporaryDirectory(prefix="cinch-") as folder:
        file = Path(folder) / name
        file.touch(mode=0o600)
        file.write_text(text, encoding="utf-8", errors=errors, newline="")
        yield file


def editor_command(command: str, environ: Mapping[str, str]) -> list[str]:
    """Return the editor command as a list of arguments; empty if no editor was found.

    Raises:
        ValueError: unclosed quotes.
    """
    chosen = command or environ.get("EDITOR") or environ.get("VISUAL") or ""
    if chosen.strip():
        return shlex.split(chosen)
    return [name for name in DEFAULT_EDITORS if shutil.which(name)][:1]


def run_in_terminal(argv: Sequence[str]) -> int:
    """Run a program on the released terminal and return its exit status."""
    with _ignore_interrupts():
        return subprocess.run(argv, check=False).returncode


@contextmanager
def _ignore_interrupts() -> Generator[None, None, None]:
    # The terminal sends Ctrl+C to the editor and to cinch. Unlike an ignored signal, a no-op handler is not inherited
    # by the child.
    before = signal.signal(signal.SIGINT, _do_nothing)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def _do_nothing(number: int, frame: FrameType | None) -> None:
    pass


def _state(file: Path) -> tuple[int, int]:
    """Return inode and modification time, which change when the file is saved."""
    try:
        found = file.stat()
    except FileNotFoundError:
        return 0, 0
    return found.st_ino, found.st_mtime_ns


def _read(file: Path, draft: str) -> str:
    try:
        return file.read_bytes().decode("utf-8", errors="replace")
    except OSError:
        return draft


def _result(editor: str, status: int, text: str) -> EditorResult:
    if status:
        how = f"was killed by signal {-status}" if status < 0 else f"exited with status {status}"
        return EditorFailed(f"The editor {editor} {how}; its changes were discarded.", text)
    return EditedText(text) if text else EmptyText()
