"""Writing a prompt, or what the model proposed, in the person's own editor."""

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

from textual.app import SuspendNotSupported

from harness.lazy_dataclass import dataclass

USUAL_EDITORS = ("vi", "nano")


@dataclass(frozen=True, slots=True)
class Edited:
    text: str


@dataclass(frozen=True, slots=True)
class Empty:
    """The file was left empty: nothing is to be sent."""


@dataclass(frozen=True, slots=True)
class Unsaved:
    """The editor was left without a word changed or saved."""


@dataclass(frozen=True, slots=True)
class EditorFailed:
    """`reason` is for the person; `text` is the newest there is: what the editor saved, else the draft."""

    reason: str
    text: str


Composed: TypeAlias = Edited | Empty | Unsaved | EditorFailed


async def compose(draft: str, command: str, suspend: Callable[[], AbstractContextManager[None]]) -> Composed:
    """Let the person go on with `draft` as in `rewrite`; blanks at its end do not count."""
    match await rewrite(draft, "prompt.md", command, suspend):
        case Edited(text):
            return Edited(text.rstrip()) if text.strip() else Empty()
        case EditorFailed(reason, text):
            return EditorFailed(reason, text.rstrip())
        case other:
            return other


async def rewrite(draft: str, name: str, command: str, suspend: Callable[[], AbstractContextManager[None]]) -> Composed:
    """Let the person change `draft` in an editor: `command`, else the environment's, else a usual one. `name` is what
    the file is called, from which editors tell its language.

    `suspend` gives the terminal away while it is entered, as Textual's `App.suspend` does. The app stands still
    meanwhile: it must not draw over the editor.
    """
    try:
        argv = editor_command(command, os.environ)
    except ValueError as error:
        return EditorFailed(f"The editor's command cannot be read: {error}.", draft)
    if not argv:
        return EditorFailed("No editor was found; set ui.editor in the configuration, or $EDITOR.", draft)
    if shutil.which(argv[0]) is None:
        return EditorFailed(
            f"The editor {argv[0]} was not found; set ui.editor in the configuration, or $EDITOR.", draft
        )
    # A folder of its own takes the editor's backups and swap files with it when it goes.
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
            return EditorFailed(f"The editor {argv[0]} could not be started: {error}.", draft)
        text = _read(file, draft)
        return Unsaved() if is_untouched and not status and text == draft else _result(argv[0], status, text)


def editor_command(command: str, environ: Mapping[str, str]) -> list[str]:
    """The editor as a list of words; empty when there is none.

    Raises:
        ValueError: its quotes are not closed.
    """
    chosen = command or environ.get("EDITOR") or environ.get("VISUAL") or ""
    if chosen.strip():
        return shlex.split(chosen)
    return [name for name in USUAL_EDITORS if shutil.which(name)][:1]


def run_there(argv: Sequence[str]) -> int:
    """Run a program that has the terminal, which was given away; its status."""
    with _interrupts_left_to_the_editor():
        return subprocess.run(argv, check=False).returncode


@contextmanager
def _interrupts_left_to_the_editor() -> Generator[None, None, None]:
    # The terminal sends Ctrl+C to the editor and to us. A handler that does nothing is not inherited by the child,
    # as ignoring the signal would be.
    before = signal.signal(signal.SIGINT, _do_nothing)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def _do_nothing(number: int, frame: FrameType | None) -> None:
    del number, frame


def _state(file: Path) -> tuple[int, int]:
    """What another one is after the file was saved."""
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
        how = f"was killed by signal {-status}" if status < 0 else f"ended with status {status}"
        return EditorFailed(f"The editor {editor} {how}; what it saved is not taken.", text)
    return Edited(text) if text else Empty()
