"""Names and sizes of the files in an archive. Nothing is extracted.

An archive may be made to exhaust memory or time: reading is bounded in bytes, entries and seconds. May take seconds: to
be called in a thread.
"""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import struct
import tarfile
import zipfile
import zlib
from collections.abc import Callable, Iterator
from itertools import islice
from pathlib import Path
from typing import BinaryIO, cast

from msgspec import Struct

from harness.errors import NotAFile
from harness.terminal_text import escape_controls
from harness.workspace.disk import open_regular
from tools.deadline import Deadline, TooComplex

MOST_ENTRIES = 100_000
LONGEST_NAME = 300
LARGEST_DIRECTORY = 8 * 1024 * 1024
"""Bytes of the list of files in a ZIP archive, which is read whole."""
MOST_DECOMPRESSED = 256 * 1024 * 1024
"""Bytes of a compressed tar archive that are decompressed to find its files."""
_TAR_MAGIC = slice(257, 262)
_TAR_NAMES = (".tar", ".tgz", ".tbz", ".tbz2", ".txz")
_COMPRESSIONS: dict[bytes, tuple[str, Callable[[BinaryIO], object]]] = {
    b"\x1f\x8b": ("tar archive, gzip", lambda file: gzip.GzipFile(fileobj=file)),
    b"BZh": ("tar archive, bzip2", bz2.BZ2File),
    b"\xfd7zXZ\x00": ("tar archive, xz", lzma.LZMAFile),
}
_DAMAGE = (
    tarfile.TarError, zipfile.BadZipFile, zlib.error, lzma.LZMAError, struct.error, EOFError, OSError, ValueError,
    NotImplementedError, OverflowError, MemoryError, RecursionError,
)  # fmt: skip


class UnreadableArchive(Exception):
    """The archive cannot be read; the message is the reason."""


class ArchiveEntry(Struct, frozen=True):
    """A file or folder in an archive."""

    name: str
    """Name, with control characters made visible."""
    size: int
    """Size in bytes after extraction."""
    note: str = ""
    """Facts such as "encrypted" or the target of a link."""


class Archive(Struct, frozen=True):
    """Entries of an archive."""

    kind: str
    entries: tuple[ArchiveEntry, ...]
    is_complete: bool = True
    """False if there may be more entries."""


def archive_kind(name: str, head: bytes) -> str:
    """Return the kind of an archive that can be listed, by the first bytes of the file; empty for any other file."""
    if head.startswith((b"PK\x03\x04", b"PK\x05\x06")):
        return "ZIP archive"
    if head[_TAR_MAGIC] == b"ustar":
        return "tar archive"
    is_tar = name.lower().endswith(_TAR_NAMES) or ".tar." in name.lower()
    return next((kind for magic, (kind, _) in _COMPRESSIONS.items() if is_tar and head.startswith(magic)), "")


def read_archive(path: Path, kind: str, deadline: Deadline) -> Archive:
    """Return the entries of an archive, in their order in it.

    Args:
        path: Resolved path.
        kind: Kind, as returned by `archive_kind`.
        deadline: Time limit, after which the entries found are returned.

    Raises:
        UnreadableArchive: It is damaged or too large.
        TooComplex: The time is over, and no entry was found.
    """
    entries: list[ArchiveEntry] = []
    try:
        with open_regular(path) as file:
            found = _zip_entries(file) if kind == "ZIP archive" else _tar_entries(file, deadline)
            entries.extend(islice(deadline.checked(found), MOST_ENTRIES + 1))
    except TooComplex:
        if not entries:
            raise
        return Archive(kind, tuple(entries), is_complete=False)
    except NotAFile as error:
        raise UnreadableArchive(str(error)) from error
    except _DAMAGE as error:
        if entries:
            return Archive(kind, tuple(entries), is_complete=False)
        raise UnreadableArchive(f"the archive is damaged or too large ({type(error).__name__})") from error
    return Archive(kind, tuple(entries[:MOST_ENTRIES]), is_complete=len(entries) <= MOST_ENTRIES)


def _zip_entries(file: BinaryIO) -> Iterator[ArchiveEntry]:
    with zipfile.ZipFile(cast("BinaryIO", _BoundedReads(file))) as archive:  # it needs only these methods
        for each in archive.infolist():
            yield ArchiveEntry(_shown(each.filename), each.file_size, "encrypted" if each.flag_bits & 1 else "")


def _tar_entries(file: BinaryIO, deadline: Deadline) -> Iterator[ArchiveEntry]:
    head = file.read(6)
    file.seek(0)
    opened = next((opener(file) for magic, (_, opener) in _COMPRESSIONS.items() if head.startswith(magic)), None)
    if opened is None:
        # The data of members is skipped by seeking.
        source, mode = cast("BinaryIO", _BoundedReads(file)), "r:"
    else:
        source, mode = cast("BinaryIO", _Decompressed(cast("BinaryIO", opened), deadline)), "r|"
    with tarfile.open(fileobj=source, mode=mode) as archive:  # pyright: ignore[reportCallIssue, reportArgumentType]  valid modes
        while (member := archive.next()) is not None:
            yield ArchiveEntry(_shown(member.name + "/" * member.isdir()), member.size, _tar_note(member))
            # It would keep all of them.
            archive.members = []  # pyright: ignore[reportAttributeAccessIssue]  missing in the stubs


def _tar_note(member: tarfile.TarInfo) -> str:
    if member.issym() or member.islnk():
        return f"link to {_shown(member.linkname)}"
    return "" if member.isfile() or member.isdir() else "special file"


class _BoundedReads(io.RawIOBase):
    """File of which one read returns at most `LARGEST_DIRECTORY` bytes."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file

    def read(self, size: int | None = -1, /) -> bytes:
        whole = size is None or size < 0 or size > LARGEST_DIRECTORY
        parts: list[bytes] = []
        left = LARGEST_DIRECTORY + 1 if whole or size is None else size
        # The file is not buffered, so that a read may return less.
        while left > 0 and (part := self._file.read(left)):
            parts.append(part)
            left -= len(part)
        if whole and left <= 0:
            raise OverflowError("the list of files is too large")
        return b"".join(parts)

    def seek(self, offset: int, whence: int = 0, /) -> int:
        return self._file.seek(offset, whence)

    def tell(self) -> int:
        return self._file.tell()

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True


class _Decompressed:
    """Decompressed data, bounded in bytes and time."""

    def __init__(self, file: BinaryIO, deadline: Deadline) -> None:
        self._file = file
        self._deadline = deadline
        self._left = MOST_DECOMPRESSED

    def read(self, size: int) -> bytes:
        self._deadline.check()
        data = self._file.read(size)
        self._left -= len(data)
        if self._left < 0:
            raise OverflowError("the archive is too large")
        return data


def _shown(name: str) -> str:
    line = escape_controls(name).replace("\n", "␊").replace("\t", "␉")
    return line if len(line) <= LONGEST_NAME else f"{line[:LONGEST_NAME]}…"
