"""Pastes other than plain text: images, and file paths dropped on the terminal.

Terminals insert dropped paths shell-quoted, backslash-escaped or as file:// URLs, one after another.
"""

from __future__ import annotations

import asyncio
import base64
import binascii
import os
import re
import shlex
from pathlib import Path
from typing import TypeAlias
from urllib.parse import unquote, urlsplit

from msgspec import Struct

from cinch_tui.images.image_loader import LoadedImage, attachments, is_image, load_bytes, load_image
from cinch_tui.user_input import Attachment, UserInput
from harness.errors import CinchError

Piece: TypeAlias = str | LoadedImage
# Split like a shell: quoted, or with escaped blanks.
_PATH = re.compile(r"""(?<!\S)(?:'[^'\n]+'|"[^"\n]+"|(?:\\.|[^\s\\'"])+)(?!\S)""")
PASTED = "pasted"


class PasteContent(Struct, frozen=True):
    """Content of a paste."""

    pieces: tuple[Piece, ...]
    """Texts and images in order."""
    rejected: tuple[str, ...] = ()
    """Reasons for rejected images."""


async def parse_paste(text: str, root: Path) -> PasteContent | None:
    """Return the content of a paste; None if it is plain text."""
    if (data := pasted_image(text)) is not None:
        found = await load_pasted_image(data, PASTED)
        # Keep the text: the agent may be able to use it.
        return found if found.pieces else PasteContent((text,), found.rejected)
    paths = await asyncio.to_thread(dropped_paths, text, root)
    if not paths:
        return None
    pieces, rejected = list[Piece](), list[str]()
    for path in paths:
        try:
            pieces.append(await asyncio.to_thread(_piece, path, root))
        except CinchError as error:
            rejected.append(str(error))
            pieces.append(mention(path, root))
    return PasteContent(tuple(pieces), tuple(rejected))


async def load_pasted_image(data: bytes, name: str) -> PasteContent:
    try:
        return PasteContent((await load_bytes(data, name),))
    except CinchError as error:
        return PasteContent((), (str(error),))


def mention(path: Path, root: Path) -> str:
    """Return the path as an `@` mention, relative to the project if inside."""
    named = str(path.relative_to(root)) if path.is_relative_to(root) else str(path)
    folder = "/" if path.is_dir() else ""
    return f'@"{named}{folder}" ' if " " in named else f"@{named}{folder} "


async def attach_named_images(text: str, root: Path, first: int = 1) -> tuple[UserInput, tuple[str, ...]]:
    """Attach the images whose paths are in a line, numbered from `first`; return reasons for rejected ones too."""
    marked, images, rejected, end = "", list[Attachment](), list[str](), 0
    for found in _PATH.finditer(text):
        paths = await asyncio.to_thread(dropped_paths, found[0], root)
        if len(paths) != 1 or not await asyncio.to_thread(is_image, paths[0]):
            continue
        try:
            image = await asyncio.to_thread(load_image, paths[0], root)
        except CinchError as error:
            rejected.append(str(error))
            continue
        images += attachments([image], first + len(images))
        marked += f"{text[end : found.end()]} {images[-1].mark}"
        end = found.end()
    return UserInput(marked + text[end:], tuple(images)), tuple(rejected)


def _piece(path: Path, root: Path) -> Piece:
    return load_image(path, root) if is_image(path) else mention(path, root)


_LONGEST = 16_000
_DATA_URL = re.compile(r"data:image/[\w.+-]+(?:;[\w=.+-]+)*;base64,", re.IGNORECASE)
_BASE64 = re.compile(r"[A-Za-z0-9+/_-]+={0,2}")
# Base64 prefixes of the supported image formats.
_BEGINNINGS = ("iVBORw0KGgo", "/9j/", "R0lGOD", "UklGR")
_SHORTEST = 60
_SUFFIXES = (".png", ".jpg", ".jpeg", ".gif", ".webp")
_DRIVE = re.compile(r"([A-Za-z]):[\\/](.*)", re.DOTALL)


def dropped_paths(text: str, root: Path) -> list[Path]:
    """Return the files named by the text; empty if it contains anything else or a file is missing.

    Only images may be named relative to `root`, since any word may be a file name.
    """
    text = text.strip()
    if not text or len(text) > _LONGEST:
        return []
    for words in ([text], text.splitlines(), _shell_words(text)):
        paths: list[Path] = []
        for word in words:
            path = _path(word.strip(), root)
            if path is None:
                break
            paths.append(path)
        else:
            return paths
    return []


def pasted_image(text: str) -> bytes | None:
    """Return the data if the text is base64, bare or as a data URL; it may be an image."""
    text = text.strip()
    beginning = _DATA_URL.match(text)
    if beginning is None and (len(text) < _SHORTEST or not text.startswith(_BEGINNINGS)):
        return None
    letters = "".join(line.strip() for line in text[beginning.end() if beginning else 0 :].splitlines())
    if not _BASE64.fullmatch(letters):
        return None
    try:
        return base64.b64decode(letters.translate({ord("-"): "+", ord("_"): "/"}) + "=" * (-len(letters) % 4))
    except binascii.Error:
        return None


def _shell_words(text: str) -> list[str]:
    try:
        return shlex.split(text)
    except ValueError:
        return []


def _path(word: str, root: Path) -> Path | None:
    unquoted = _shell_words(word)
    forms = [word, *unquoted] if len(unquoted) == 1 else [word]
    return next((path for form in forms if (path := _existing(form, root))), None)


def _existing(word: str, root: Path) -> Path | None:
    try:
        path = _from_url(word) or _from_drive(word) or Path(word).expanduser()
        if path.is_absolute():
            # A single path component may also be a slash command.
            return path if len(path.parts) > 2 and path.exists() else None
        return root / path if path.suffix.lower() in _SUFFIXES and (root / path).is_file() else None
    except (OSError, RuntimeError, ValueError):
        # Name too long, unknown user, or invalid character.
        return None


def _from_url(word: str) -> Path | None:
    return Path(unquote(urlsplit(word).path)) if word.lower().startswith("file://") else None


def _from_drive(word: str) -> Path | None:
    """Translate a Windows path to its mount in WSL."""
    found = _DRIVE.fullmatch(word)
    return Path("/mnt", found[1].lower(), found[2].replace("\\", "/")) if found and os.name == "posix" else None
