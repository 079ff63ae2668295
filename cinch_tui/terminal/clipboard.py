"""The system clipboard.

Copying uses OSC 52, which works over SSH, and tmux or the system clipboard for terminals without it. Reading uses the
programs available on this system.
"""

from __future__ import annotations

import asyncio
import base64
import binascii
import os
import re
import shutil
import subprocess
import sys
import tempfile
from asyncio.subprocess import DEVNULL, PIPE
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress

from msgspec import Struct

from cinch_tui.terminal.multiplexers import Multiplexer, multiplexer_of
from harness.concurrency import end_process
from harness.errors import CinchError

# A clipboard program without a display may hang.
TIMEOUT_S = 2.0
# Terminals reject longer sequences; some print them.
MAX_TERMINAL_BYTES = 750_000


_REQUIREMENTS: dict[Multiplexer, str] = {
    "": "if the terminal allows it",
    "tmux": "if the terminal allows it and tmux has: set -g set-clipboard on",
    "screen": "if screen and the terminal allow it",
}


class CopyResult(Struct, frozen=True):
    """Result of a copy."""

    characters: int
    system: bool
    """The system clipboard or tmux accepted the text."""
    file: str = ""
    """File with a text too long for the terminal, if nothing else accepted it."""
    inside: Multiplexer = ""
    """Multiplexer between cinch and the terminal."""

    @property
    def message(self) -> str:
        if self.file:
            return f"{self.characters:,} characters exceed the limit of the terminal clipboard; saved to {self.file}."
        # OSC 52 has no reply: it is unknown whether the terminal accepted the text.
        return f"Copied {self.characters:,} characters{'' if self.system else f', {_REQUIREMENTS[self.inside]}'}."


async def copy_text(text: str, through_terminal: Callable[[str], None]) -> CopyResult:
    """Copy by every available method.

    Args:
        text: text to copy.
        through_terminal: the app's `copy_to_clipboard`.
    """
    fits = len(text.encode(errors="replace")) <= MAX_TERMINAL_BYTES
    if fits:
        through_terminal(text)
    try:
        async with asyncio.timeout(TIMEOUT_S):
            took = await asyncio.to_thread(_through_system, text)
    except TimeoutError:
        took = False
    file = "" if fits or took else await asyncio.to_thread(_into_file, text)
    return CopyResult(len(text), took, file, multiplexer_of(os.environ))


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
            ran = subprocess.run(command, input=text.encode(), capture_output=True, timeout=TIMEOUT_S, check=False)
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


# A program may hang without a display; the one of Windows takes a second to start.
READ_TIMEOUT_S = 4.0
# In order of preference.
_PICTURES = ("image/png", "image/jpeg", "image/webp", "image/gif")
_FILES = "text/uri-list"
_HEX = re.compile(rb"data PNGf([0-9A-Fa-f]+)")
_WINDOWS = (
    "Add-Type -AssemblyName System.Windows.Forms,System.Drawing; $c=[Windows.Forms.Clipboard]; "
    "if($c::ContainsImage()){$m=New-Object IO.MemoryStream; "
    "$c::GetImage().Save($m,[Drawing.Imaging.ImageFormat]::Png); [Convert]::ToBase64String($m.ToArray())}"
)
_WINDOWS_TEXT = "[Console]::OutputEncoding=[Text.Encoding]::UTF8; Get-Clipboard -Raw"


class ClipboardContent(Struct, frozen=True):
    """Clipboard content: an image, or text that may name files; both empty if the clipboard is."""

    image: bytes | None = None
    text: str = ""


async def read_clipboard() -> ClipboardContent:
    """Read the clipboard.

    Raises:
        CinchError: no clipboard program, or a timeout.
    """
    reader = _reader(os.environ, sys.platform)
    if reader is None:
        problem = "no clipboard program found; install wl-clipboard or xclip"
        if os.environ.get("SSH_CONNECTION"):
            problem = "the clipboard is not available over SSH; paste text, or the path of an image on this machine"
        raise CinchError(problem)
    try:
        async with asyncio.timeout(READ_TIMEOUT_S):
            return await reader()
    except TimeoutError:
        raise CinchError(f"the clipboard did not answer within {READ_TIMEOUT_S:.0f} seconds") from None


def _reader(environ: Mapping[str, str], platform: str) -> Callable[[], Awaitable[ClipboardContent]] | None:
    if platform == "darwin":
        return _mac
    if shutil.which("powershell.exe"):
        return _windows
    if environ.get("WAYLAND_DISPLAY") and shutil.which("wl-paste"):
        return lambda: _read_best_type(["wl-paste", "--no-newline"], ["--list-types"], "--type")
    if environ.get("DISPLAY") and shutil.which("xclip"):
        return lambda: _read_best_type(["xclip", "-selection", "clipboard", "-o"], ["-t", "TARGETS"], "-t")
    return None


async def _read_best_type(read: Sequence[str], types: Sequence[str], of_type: str) -> ClipboardContent:
    """Read the best type offered by the clipboard program."""
    offered = (await _output_of(*read, *types)).decode(errors="replace").split()
    for kind in _PICTURES:
        if kind in offered:
            return ClipboardContent(image=await _output_of(*read, of_type, kind) or None)
    files = [of_type, _FILES] if _FILES in offered else []
    return ClipboardContent(text=(await _output_of(*read, *files)).decode(errors="replace"))


async def _mac() -> ClipboardContent:
    if shutil.which("pngpaste") and (picture := await _output_of("pngpaste", "-")):
        return ClipboardContent(picture)
    if found := _HEX.search(await _output_of("osascript", "-e", "the clipboard as «class PNGf»")):
        return ClipboardContent(bytes.fromhex(found[1].decode()))
    return ClipboardContent(text=(await _output_of("pbpaste")).decode(errors="replace"))


async def _windows() -> ClipboardContent:
    shell = ("powershell.exe", "-NoProfile", "-STA", "-Command")
    with suppress(binascii.Error):
        if picture := base64.b64decode(await _output_of(*shell, _WINDOWS)):
            return ClipboardContent(picture)
    return ClipboardContent(
        text=(await _output_of(*shell, _WINDOWS_TEXT)).decode(errors="replace").replace("\r\n", "\n")
    )


async def _output_of(*command: str) -> bytes:
    """Return the output of a command; empty if it fails. The process is killed on cancellation."""
    try:
        process = await asyncio.create_subprocess_exec(*command, stdin=DEVNULL, stdout=PIPE, stderr=DEVNULL)
    except OSError:
        return b""
    try:
        output, _ = await process.communicate()
        return b"" if process.returncode else output
    finally:
        await end_process(process)
