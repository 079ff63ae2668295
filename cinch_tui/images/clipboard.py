"""Reading the system clipboard with the programs available on this system."""

from __future__ import annotations

import asyncio
import base64
import binascii
import os
import re
import shutil
import sys
from asyncio.subprocess import DEVNULL, PIPE
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress

from msgspec import Struct

from harness.concurrency import end_process
from harness.errors import CinchError

# A program may hang without a display; the one of Windows takes a second to start.
PATIENCE = 4.0
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


class Held(Struct, frozen=True):
    """Clipboard content: an image, or text that may name files; both empty if the clipboard is."""

    picture: bytes | None = None
    text: str = ""


async def held() -> Held:
    """Read the clipboard.

    Raises:
        CinchError: no clipboard program, or a timeout.
    """
    reader = _reader(os.environ, sys.platform)
    if reader is None:
        raise CinchError(_nobody(os.environ))
    try:
        async with asyncio.timeout(PATIENCE):
            return await reader()
    except TimeoutError:
        raise CinchError(f"the clipboard did not answer within {PATIENCE:.0f} seconds") from None


def _nobody(environ: Mapping[str, str]) -> str:
    if environ.get("SSH_CONNECTION"):
        return "the clipboard is not available over SSH; paste text, or the path of an image on this machine"
    return "no clipboard program found; install wl-clipboard or xclip"


def _reader(environ: Mapping[str, str], platform: str) -> Callable[[], Awaitable[Held]] | None:
    if platform == "darwin":
        return _mac
    if shutil.which("powershell.exe"):
        return _windows
    if environ.get("WAYLAND_DISPLAY") and shutil.which("wl-paste"):
        return lambda: _offered(["wl-paste", "--no-newline"], ["--list-types"], "--type")
    if environ.get("DISPLAY") and shutil.which("xclip"):
        return lambda: _offered(["xclip", "-selection", "clipboard", "-o"], ["-t", "TARGETS"], "-t")
    return None


async def _offered(read: Sequence[str], types: Sequence[str], of_type: str) -> Held:
    """Read the best type offered by the clipboard program."""
    offered = (await _printed(*read, *types)).decode(errors="replace").split()
    for kind in _PICTURES:
        if kind in offered:
            return Held(picture=await _printed(*read, of_type, kind) or None)
    files = [of_type, _FILES] if _FILES in offered else []
    return Held(text=(await _printed(*read, *files)).decode(errors="replace"))


async def _mac() -> Held:
    if shutil.which("pngpaste") and (picture := await _printed("pngpaste", "-")):
        return Held(picture)
    if found := _HEX.search(await _printed("osascript", "-e", "the clipboard as «class PNGf»")):
        return Held(bytes.fromhex(found[1].decode()))
    return Held(text=(await _printed("pbpaste")).decode(errors="replace"))


async def _windows() -> Held:
    shell = ("powershell.exe", "-NoProfile", "-STA", "-Command")
    with suppress(binascii.Error):
        if picture := base64.b64decode(await _printed(*shell, _WINDOWS)):
            return Held(picture)
    return Held(text=(await _printed(*shell, _WINDOWS_TEXT)).decode(errors="replace").replace("\r\n", "\n"))


async def _printed(*command: str) -> bytes:
    """Return the output of a command; empty if it fails. The process is killed on cancellation."""
    try:
        process = await asyncio.create_subprocess_exec(*command, stdin=DEVNULL, stdout=PIPE, stderr=DEVNULL)
    except OSError:
        return b""
    try:
        printed, _ = await process.communicate()
        return b"" if process.returncode else printed
    finally:
        await end_process(process)
