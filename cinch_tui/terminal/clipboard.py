"""Copying: OSC 52, which works over SSH, and tmux or the system clipboard for terminals without it."""

from __future__ import annotations

import asyncio
import os
import subprocess
import tempfile
from collections.abc import Callable
from typing import TYPE_CHECKING

from msgspec import Struct

from cinch_tui.terminal.multiplexers import Multiplexer, around

if TYPE_CHECKING:
    from textual.app import App

# A clipboard program without a display may hang.
PATIENCE = 2.0
# Terminals reject longer sequences; some print them.
MOST_FOR_TERMINALS = 750_000


_ADVICE: dict[Multiplexer, str] = {
    "": "if the terminal allows it",
    "tmux": "if the terminal allows it and tmux has: set -g set-clipboard on",
    "screen": "if screen and the terminal allow it",
}


class Copied(Struct, frozen=True):
    """Result of a copy."""

    characters: int
    system: bool
    """The system clipboard or tmux accepted the text."""
    file: str = ""
    """File with a text too long for the terminal, if nothing else accepted it."""
    inside: Multiplexer = ""
    """Multiplexer between cinch and the terminal."""

    @property
    def words(self) -> str:
        if self.file:
            return f"{self.characters:,} characters exceed the limit of the terminal clipboard; saved to {self.file}."
        # OSC 52 has no reply: it is unknown whether the terminal accepted the text.
        return f"Copied {self.characters:,} characters{'' if self.system else f', {_ADVICE[self.inside]}'}."


async def copy(app: App[object], text: str) -> None:
    """Copy and notify the user."""
    copied = await copy_text(text, app.copy_to_clipboard)
    app.notify(copied.words, markup=False)


async def copy_text(text: str, through_terminal: Callable[[str], None]) -> Copied:
    """Copy by every available method.

    Args:
        text: text to copy.
        through_terminal: the app's `copy_to_clipboard`.
    """
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
    # Over SSH the clipboard belongs to a remote machine, unless X or Wayland is forwarded.
    is_far = "SSH_CONNECTION" in os.environ and not {"DISPLAY", "WAYLAND_DISPLAY"} & os.environ.keys()
    return (not is_far and _through_clipboard(text)) or through_tmux


def _through_tmux(text: str) -> bool:
    """Copy to the tmux buffer: tmux drops OSC 52 unless configured, but forwards its own buffers."""
    for options in (["-w"], []):  # `-w` requires tmux 3.2
        command = ["tmux", "load-buffer", *options, "-"]
        try:
            ran = subprocess.run(command, input=text.encode(), capture_output=True, timeout=PATIENCE, check=False)
        except (OSError, subprocess.TimeoutExpired):
            return False
        if not ran.returncode:
            return True
    return False


def _into_file(text: str) -> str:
    # `mkstemp` makes it readable by the user only.
    descriptor, path = tempfile.mkstemp(prefix="cinch-copied-", suffix=".txt", text=True)
    with os.fdopen(descriptor, "w", encoding="utf-8") as file:
        file.write(text)
    return path


def _through_clipboard(text: str) -> bool:
    # Late import: it searches for clipboard programs.
    import pyperclip

    try:
        pyperclip.copy(text)
    except (pyperclip.PyperclipException, OSError):
        return False
    return True
