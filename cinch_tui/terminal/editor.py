"""Editing a prompt or a proposed change in the user's editor."""

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
from textual.app import SuspendNotSupported

USUAL_EDITORS = ("vi", "nano")


class Edited(Struct, frozen=True):
    text: str


class Empty(Struct, frozen=True):
    """The file was left empty: do not send anything."""


class Unsaved(Struct, frozen=True):
    """The editor was closed without changing or saving the text."""


class EditorFailed(Struct, frozen=True):
    """The editor failed."""

    reason: str
    """Explanation for the user."""
    text: str
    """The saved text, or the draft if nothing was saved."""


Composed: TypeAlias = Edited | Empty | Unsaved | EditorFailed


async def compose(draft: str, command: str, suspend: Callable[[], AbstractContextManager[None]]) -> Composed:
    """Let the user edit a prompt draft as in `rewrite`; trailing blanks are removed."""
    match await rewrite(draft, "prompt.md", command, suspend):
        case Edited(text):
            return Edited(text.rstrip()) if text.strip() else Empty()
        case EditorFailed(reason, text):
            return EditorFailed(reason, text.rstrip())
        case other:
            return other


async def rewrite(draft: str, name: str, command: str, suspend: Callable[[], AbstractContextManager[None]]) -> Composed:
    """Let the user edit a draft in an editor.

    The app blocks meanwhile: it must not draw over the editor.

    Args:
        draft: initial text.
        name: file name; editors derive the language from it.
        command: editor command; empty: $EDITOR, $VISUAL or a common editor.
        suspend: context manager that releases the terminal, as Textual's `App.suspend`.
    """
    try:
        argv = editor_command(command, os.environ)
    except ValueError as error:
        return EditorFailed(f"Invalid editor command: {error}.", draft)
    if not argv:
        return EditorFailed("No editor found; set ui.editor in the configuration, or $EDITOR.", draft)
    if shutil.which(argv[0]) is None:
        return EditorFailed(f"Editor {argv[0]} not found; set ui.editor in the configuration, or $EDITOR.", draft)
    # A separate folder, so that backup and swap files are removed with it.
    with tempfile.TemporaryDirectory(prefix="cinch-") as folder:
        file = Path(folder) / name
        try:
            file.touch(mode=0o600)
            file.write_text(draft, encoding="utf-8", newline="")
            before = _state(file)
            with suspend():
                status = run_there([*argv, str(file)])
            is_untouched = draft != "" and _state(file) == before
        except (OSError, UnicodeError, SuspendNotSupported) as error:
            return EditorFailed(f"Could not start the editor {argv[0]}: {error}.", draft)
        text = _read(file, draft)
        return Unsaved() if is_untouched and not status and text == draft else _result(argv[0], status, text)


def editor_command(command: str, environ: Mapping[str, str]) -> list[str]:
    """Return the editor command as a list of arguments; empty if no editor was found.

    Raises:
        ValueError: unclosed quotes.
    """
    chosen = command or environ.get("EDITOR") or environ.get("VISUAL") or ""
    if chosen.strip():
        return shlex.split(chosen)
    return [name for name in USUAL_EDITORS if shutil.which(name)][:1]


def run_there(argv: Sequence[str]) -> int:
    """Run a program on the released terminal and return its exit status."""
    with _interrupts_left_to_the_editor():
        return subprocess.run(argv, check=False).returncode


@contextmanager
def _interrupts_left_to_the_editor() -> Generator[None, None, None]:
    # The terminal sends Ctrl+C to the editor and to cinch. Unlike an ignored signal, a no-op handler is not inherited
    # by the child.
    before = signal.signal(signal.SIGINT, _do_nothing)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def _do_nothing(number: int, frame: FrameType | None) -> None:
    del number, frame


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


def _result(editor: str, status: int, text: str) -> Composed:
    if status:
        how = f"was killed by signal {-status}" if status < 0 else f"exited with status {status}"
        return EditorFailed(f"The editor {editor} {how}; its changes were discarded.", text)
    return Edited(text) if text else Empty()
