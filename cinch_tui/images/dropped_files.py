"""File paths dropped on the terminal, and images pasted as text.

Terminals insert dropped paths shell-quoted, backslash-escaped or as file:// URLs, one after another.
"""

from __future__ import annotations

import base64
import binascii
import os
import re
import shlex
from pathlib import Path
from urllib.parse import unquote, urlsplit

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


def pasted_picture(text: str) -> bytes | None:
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
