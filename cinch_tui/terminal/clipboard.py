"""Copying: through the terminal, which works over SSH, and through tmux or the system, for terminals that cannot."""

from __future__ import annotations

import asyncio
import os
import subprocess
import tempfile
from collections.abc import Callable
from typing import TYPE_CHECKING

from cinch_tui.terminal.multiplexers import Multiplexer, around
from harness.lazy_dataclass import dataclass

if TYPE_CHECKING:
    from textual.app import App

# A clipboard program without a display to talk to may wait for ever.
PATIENCE = 2.0
# Terminals take no more, and some print what they do not take.
MOST_FOR_TERMINALS = 750_000


_ADVICE: dict[Multiplexer, str] = {
    "": "if the terminal allows it",
    "tmux": "if the terminal allows it and tmux has: set -g set-clipboard on",
    "screen": "if screen and the terminal allow it",
}


@dataclass(frozen=True, slots=True)
class Copied:
    """`system` is true when a clipboard of the machine the person sits at took the text, or their tmux.

    `file` is where a text is that is too long for a terminal, where nothing else took it. `inside` is what stands
    between cinch and the terminal.
    """

    characters: int
    system: bool
    file: str = ""
    inside: Multiplexer = ""

    @property
    def words(self) -> str:
        if self.file:
            return f"{self.characters:,} characters are too many for the terminal's clipboard; they are in {self.file}."
        # The terminal does not answer: whether it keeps what it is asked to, nobody knows.
        return f"Copied {self.characters:,} characters{'' if self.system else f', {_ADVICE[self.inside]}'}."


async def copy(app: App[object], text: str) -> None:
    """Copy, and say on the screen how it was done."""
    copied = await copy_text(text, app.copy_to_clipboard)
    app.notify(copied.words, markup=False)


async def copy_text(text: str, through_terminal: Callable[[str], None]) -> Copied:
    """Copy by every way there is. `through_terminal` is the app's `copy_to_clipboard`."""
    fits = len(text.encode(errors="replace")) <= MOST_FOR_TERMINALS
    if fits:
        through_terminal(text)
    try:
        async with asyncio.timeout(PATIENCE):
            took = await asyncio.to_thread(_through_system, text)
    except TimeoutError:
        took = False
    file = "" if fits or took else await asyncio.to_thread(_into_file, text)
    return Copied(len(text), took, file, around(os.environ))


def _through_system(text: str) -> bool:
    through_tmux = "TMUX" in os.environ and _through_tmux(text)
    # At the end of an ssh the clipboard is that of a machine nobody sits at, unless its windows come from here.
    is_far = "SSH_CONNECTION" in os.environ and not {"DISPLAY", "WAYLAND_DISPLAY"} & os.environ.keys()
    return (not is_far and _through_clipboard(text)) or through_tmux


def _through_tmux(text: str) -> bool:
    """tmux swallows what programs tell the terminal's clipboard, unless it is set up; it passes on what it is given."""
    for options in (["-w"], []):  # `-w` came with tmux 3.2
        command = ["tmux", "load-buffer", *options, "-"]
        try:
            ran = subprocess.run(command, input=text.encode(), capture_output=True, timeout=PATIENCE, check=False)
        except (OSError, subprocess.TimeoutExpired):
            return False
        if not ran.returncode:
            return True
    return False


def _into_file(text: str) -> str:
    # Only the person may read it.
    descriptor, path = tempfile.mkstemp(prefix="cinch-copied-", suffix=".txt", text=True)
    with os.fdopen(descriptor, "w", encoding="utf-8") as file:
        file.write(text)
    return path


def _through_clipboard(text: str) -> bool:
    # Looks for clipboard programs when it is imported.
    import pyperclip

    try:
        pyperclip.copy(text)
    except (pyperclip.PyperclipException, OSError):
        return False
    return True
