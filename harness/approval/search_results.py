"""Secrets of which a search shows nothing: hidden files that it leaves out, and files without any match."""

from __future__ import annotations

from pathlib import Path

from harness.errors import NotAFile
from harness.risk import PathAccess
from harness.workspace.disk import read_beginning

_LARGEST_FILE = 100_000
_MOST_FILES = 50
_HIDDEN_START = frozenset((b"", b".", b"*", b"?", b"[", b"\\", b"{"))
_IGNORE_FILES = (".gitignore", ".ignore", ".rgignore", ".git/info/exclude")


class SearchResults:
    """Decides of which files the search of a folder may show something.

    Args:
        folder: Absolute path of the folder.
        access: The search.
    """

    def __init__(self, folder: str, access: PathAccess) -> None:
        self._folder = folder
        self._access = access
        self._including: dict[Path, bool] = {}
        self._files = 0

    def may_show(self, path: str) -> bool:
        """Return True if it may show lines of a file, given by its path in the folder."""
        if self._access.skips_hidden and self._is_skipped(path):
            return False
        self._files += 1
        is_checked = self._access.texts and self._files <= _MOST_FILES
        return not (is_checked and _has_none(Path(self._folder, path), self._access.texts))

    def _is_skipped(self, path: str) -> bool:
        """Return True if ripgrep leaves out a file: it is hidden, and no ignore file includes it again (`!.env`)."""
        if not any(part.startswith(".") for part in path.split("/")):
            return False
        return not any(map(self._includes, Path(self._folder, path).parents))

    def _includes(self, folder: Path) -> bool:
        if folder not in self._including:
            self._including[folder] = any(_includes_hidden(folder / name) for name in _IGNORE_FILES)
        return self._including[folder]


def _has_none(path: Path, texts: tuple[str, ...]) -> bool:
    """Return True if a file is known to contain none of the texts, which are in lower case."""
    try:
        content, _ = read_beginning(path, _LARGEST_FILE + 1)
    except (OSError, NotAFile):
        return False
    # Other letters may be equal to ASCII ones without regard to case, and a search decodes UTF-16.
    is_plain = len(content) <= _LARGEST_FILE and content.isascii() and b"\0" not in content
    lowered = content.lower()
    return is_plain and not any(text.encode() in lowered for text in texts)


def _includes_hidden(path: Path) -> bool:
    """Return True if an ignore file may include hidden files that are no mere templates."""
    try:
        content, _ = read_beginning(path, _LARGEST_FILE + 1)
    except (FileNotFoundError, NotADirectoryError):
        return False
    except (OSError, NotAFile):
        return True
    inclusions = (line[1:] for line in content.removeprefix(b"\xef\xbb\xbf").split(b"\n") if line.startswith(b"!"))
    return len(content) > _LARGEST_FILE or any(map(_may_be_hidden, inclusions))


def _may_be_hidden(pattern: bytes) -> bool:
    name = pattern.rstrip(b" \t\r/").rpartition(b"/")[2]
    return name[:1] in _HIDDEN_START and not name.endswith((b".example", b".sample", b".template"))
