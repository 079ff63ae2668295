"""What the system's clipboard holds, read by whichever program this machine has for it."""

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

from harness.concurrency.cancellation import end_process
from harness.errors import CinchError
from harness.lazy_dataclass import dataclass

# A program whose display does not answer may wait for ever; that of Windows takes a second to begin.
PATIENCE = 4.0
# In the order in which they are asked for.
_PICTURES = ("image/png", "image/jpeg", "image/webp", "image/gif")
_FILES = "text/uri-list"
_HEX = re.compile(rb"data PNGf([0-9A-Fa-f]+)")
_WINDOWS = (
    "Add-Type -AssemblyName System.Windows.Forms,System.Drawing; $c=[Windows.Forms.Clipboard]; "
    "if($c::ContainsImage()){$m=New-Object IO.MemoryStream; "
    "$c::GetImage().Save($m,[Drawing.Imaging.ImageFormat]::Png); [Convert]::ToBase64String($m.ToArray())}"
)
_WINDOWS_TEXT = "[Console]::OutputEncoding=[Text.Encoding]::UTF8; Get-Clipboard -Raw"


@dataclass(frozen=True, slots=True)
class Held:
    """A picture, or a text, which may name files; neither where the clipboard is empty."""

    picture: bytes | None = None
    text: str = ""


async def held() -> Held:
    """Raises:
    CinchError: there is no program for it, or it does not answer; the text says what to do.
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
        return "the clipboard is on the other end of this ssh connection: paste its text, or the path of a picture here"
    return "no program was found that reads the clipboard; install wl-clipboard, or xclip"


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
    """From a program that tells in which types the clipboard can be had."""
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
    """What a command prints; nothing where it fails. It is killed when nobody waits for it any more."""
    try:
        process = await asyncio.create_subprocess_exec(*command, stdin=DEVNULL, stdout=PIPE, stderr=DEVNULL)
    except OSError:
        return b""
    try:
        printed, _ = await process.communicate()
        return b"" if process.returncode else printed
    finally:
        await end_process(process)
