"""Workspace: the folders the agent works in, and the only way to change a file in them.

A file is changed only after it was read, only if it is unchanged since, and atomically: encoding, line endings, mode
and links are preserved, and an error leaves no trace.
"""

from __future__ import annotations

import asyncio
import errno
import os
import threading
from collections.abc import Awaitable, Callable, Sequence
from copy import copy
from functools import partial
from pathlib import Path
from weakref import WeakValueDictionary

from msgspec import Struct

from harness.errors import Aborted, FileChanged, FileNotRead, FileNotText, FileTooLarge, NotAFile, WorkspaceError
from harness.workspace.disk import open_regular, read_regular, regular_status, replace_file
from harness.workspace.encoding import encode
from harness.workspace.excerpt import Excerpt, excerpt_of
from harness.workspace.file_text import FileText, digest, file_text
from harness.workspace.path_policy import PathPolicy

MAX_EDITABLE = 10 * 1024 * 1024
_INLINE = 256 * 1024
_ERROR_TEXTS = {
    errno.ENOSPC: "the disk is full",
    errno.EDQUOT: "the disk quota is used up",
    errno.EFBIG: "the file would be larger than the system allows",
    errno.EACCES: "permission denied",
    errno.EPERM: "permission denied",
    errno.EROFS: "the file system is read-only",
    errno.ELOOP: "its links form a loop",
    errno.ENAMETOOLONG: "its name is too long",
    errno.ENOTDIR: "a part of its path is a file, not a folder",
}


class Change(Struct, frozen=True):
    """A change of a file."""

    path: Path
    """Resolved path."""
    old: str | None
    """Text before, with line feeds; None for a new file."""
    new: str
    """Text after, with line feeds."""
    size: int
    """Size of the new file in bytes."""


class _Seen(Struct, frozen=True):
    """Last known state of a file. The encoding is kept, because a guess could differ after an edit."""

    digest: str
    encoding: str


class _Draft(Struct, frozen=True):
    """A prepared change; `before` is the digest of the file it is based on, None for a new file."""

    change: Change
    data: bytes
    encoding: str
    before: str | None


class Workspace:
    """Access to files under `root` and `extra`, and read access under `readable`.

    All methods accept a path as a model writes it, and raise a `WorkspaceError` with a text for the model.

    Args:
        root: Working folder.
        extra: Further folders that may be changed.
        readable: Folders that may only be read.
    """

    def __init__(self, root: Path, extra: Sequence[Path] = (), *, readable: Sequence[Path] = ()) -> None:
        self.root = root
        self._path_policy = PathPolicy(root, tuple(extra), tuple(readable))
        self._seen: dict[Path, _Seen] = {}
        self._locks: WeakValueDictionary[Path, asyncio.Lock] = WeakValueDictionary()
        self._listeners: list[Callable[[Path], None]] = []

    def resolve(self, path: str | Path, *, writing: bool = False) -> Path:
        """Resolve a path, relative to the root, with `~` expanded.

        Args:
            path: File or folder, which need not exist.
            writing: True if the file is to be changed: some paths may only be read.

        Raises:
            OutsideWorkspace: The path is not allowed.
        """
        return self._path_policy.resolve(path, writing=writing)

    def covers(self, real: str, *, writing: bool = False) -> bool:
        """Return True if `real`, an absolute path with links resolved, may be read, or changed if `writing`."""
        return self._path_policy.covers(real, writing=writing)

    def display(self, path: Path) -> str:
        """Return a resolved path for display: relative to the root if it is inside."""
        return self._path_policy.display(path)

    def with_own_reads(self) -> Workspace:
        """Return the same workspace with its own, empty record of files read, as for a subagent.

        Write locks and listeners are shared.
        """
        other = copy(self)
        other._seen = {}
        return other

    def with_access(self, *, readable: Sequence[Path] = (), changeable: Sequence[Path] = ()) -> Workspace:
        """Return the same workspace with access to further paths, as the user approved.

        Args:
            readable: Files and folders that may be read.
            changeable: Files and folders that may be read and changed.
        """
        other = copy(self)
        other._path_policy = self._path_policy.extended(readable=readable, changeable=changeable)
        return other

    def merge_reads(self, other: Workspace) -> None:
        """Count everything read through the other workspace as read here."""
        self._seen |= other._seen

    def allow_reading(self, folder: Path) -> None:
        """Allow reading under `folder` from now on."""
        self._path_policy = self._path_policy.extended(readable=(folder,))

    def on_change(self, listener: Callable[[Path], None]) -> None:
        """Call `listener` with each resolved path just before it changes. If it raises, nothing is changed."""
        self._listeners.append(listener)

    async def read(self, path: str | Path) -> FileText:
        """Read a whole text file, which then may be changed.

        Raises:
            FileTooLarge: The file is over 10 MB; use `excerpt` to read parts of it.
        """
        real = self.resolve(path)
        file = await self._load(real)
        self._seen[real] = _Seen(file.digest, file.encoding)
        return file

    async def excerpt(self, path: str | Path, first: int, count: int, *, clip: int = 2000) -> Excerpt:
        """Return lines of a file of any size, in bounded memory. It does not count as reading the file.

        Args:
            path: The file.
            first: First line, from 1; negative counts from the end.
            count: Number of lines.
            clip: Maximum length of a line in characters; longer ones are cut.
        """
        real = self.resolve(path)
        try:
            return await asyncio.to_thread(excerpt_of, real, first, count, clip=clip)
        except (OSError, NotAFile, FileNotText) as error:
            raise self._explained(real, error) from error

    async def read_bytes(self, path: str | Path, *, start: int = 0, limit: int = MAX_EDITABLE) -> bytes:
        """Return up to `limit` bytes from `start` on. It does not count as reading the file."""
        real = self.resolve(path)
        try:
            if limit <= _INLINE:
                return _some_bytes(real, start, limit)
            return await asyncio.to_thread(_some_bytes, real, start, limit)
        except (OSError, NotAFile) as error:
            raise self._explained(real, error) from error

    async def write(self, path: str | Path, text: str) -> Change:
        """Create a file with its folders, or replace the content of one that was read and is unchanged since."""
        return await self._make(path, lambda real: self._draft_write(real, text))

    async def splice(self, path: str | Path, edit: Callable[[FileText], FileText]) -> Change:
        """Change parts of a file that was read and is unchanged since.

        Args:
            path: The file.
            edit: Returns the result of `FileText.spliced`; an exception propagates, and nothing is changed.
        """
        return await self._make(path, lambda real: self._draft_splice(real, edit))

    async def preview_write(self, path: str | Path, text: str) -> Change:
        """Return the change that `write` would make, with the same errors."""
        return (await self._draft_write(self.resolve(path, writing=True), text)).change

    async def preview_splice(self, path: str | Path, edit: Callable[[FileText], FileText]) -> Change:
        """Return the change that `splice` would make, with the same errors."""
        return (await self._draft_splice(self.resolve(path, writing=True), edit)).change

    async def restore(self, path: str | Path, data: bytes | None, *, now: str | None) -> None:
        """Restore the bytes of a file, or remove it if None, provided its digest is `now` (None: it does not exist)."""
        real = self.resolve(path, writing=True)
        draft = _Draft(Change(real, None, "", len(data or b"")), data or b"", "utf-8", now)
        async with self._locks.setdefault(real, asyncio.Lock()):
            for listener in self._listeners:
                listener(real)
            if data is not None:
                await self._replace(draft)
                return
            try:
                self._check_still(draft, threading.Event())
                await asyncio.to_thread(real.unlink)
            except (OSError, NotAFile) as error:
                raise self._explained(real, error, "; nothing was changed") from error

    async def _make(self, path: str | Path, draft_of: Callable[[Path], Awaitable[_Draft]]) -> Change:
        real = self.resolve(path, writing=True)
        async with self._locks.setdefault(real, asyncio.Lock()):
            draft = await draft_of(real)
            if draft.change.old != draft.change.new:
                for listener in self._listeners:
                    listener(real)
                await self._replace(draft)
            return draft.change

    async def _draft_write(self, real: Path, text: str) -> _Draft:
        if not os.path.lexists(real):
            if len(text) > MAX_EDITABLE:
                raise FileTooLarge(f"{self.display(real)} would be over 10 MB; create it with a command instead.")
            data = self._encoded(real, lambda: encode(text, "utf-8"))
            return _Draft(Change(real, None, text, len(data)), data, "utf-8", None)
        return await self._draft_splice(real, lambda file: file.rewritten(text))

    async def _draft_splice(self, real: Path, edit: Callable[[FileText], FileText]) -> _Draft:
        file = await self._load(real)
        self._check_fresh(real, file)
        edited = edit(file) if file.size <= _INLINE else await asyncio.to_thread(edit, file)
        data = self._encoded(real, lambda: edited.data)
        return _Draft(Change(real, file.text, edited.text, len(data)), data, file.encoding, file.digest)

    def _check_fresh(self, real: Path, file: FileText) -> None:
        seen = self._seen.get(real)
        shown = self.display(real)
        if seen is None and file.size > 0:
            raise FileNotRead(f"{shown} has not been read in this session. Read it with read_file, then change it.")
        if seen is not None and seen.digest != file.digest:
            raise FileChanged(f"{shown} has changed on disk since it was read. Read it again, then repeat the change.")

    async def _load(self, real: Path) -> FileText:
        try:
            status = regular_status(real)
            if status.st_size > MAX_EDITABLE:
                raise FileTooLarge(f"{self.display(real)} is over 10 MB: it can be read in parts, but not edited.")
            if status.st_size <= _INLINE:
                return _read_text(real, self._seen.get(real), status.st_mtime)
            return await asyncio.to_thread(_read_text, real, self._seen.get(real), status.st_mtime)
        except (OSError, NotAFile, FileNotText) as error:
            raise self._explained(real, error) from error

    def _encoded(self, real: Path, data: Callable[[], bytes]) -> bytes:
        try:
            return data()
        except FileNotText as error:
            raise FileNotText(f"{self.display(real)}: {error}.") from error

    async def _replace(self, draft: _Draft) -> None:
        """Write in a thread, because a disk may be slow; a cancelled task waits for the thread to clean up."""
        real = draft.change.path
        stop = threading.Event()
        guard = partial(self._check_still, draft, stop)
        writing = asyncio.get_running_loop().run_in_executor(None, replace_file, real, draft.data, guard)
        writing.add_done_callback(partial(self._note, draft))
        try:
            await asyncio.shield(writing)
        except asyncio.CancelledError:
            stop.set()
            await asyncio.wait([writing])
            raise
        except (OSError, NotAFile) as error:
            raise self._explained(real, error, "; nothing was changed") from error

    def _check_still(self, draft: _Draft, stop: threading.Event) -> None:
        if stop.is_set():
            raise Aborted("stopped before the file was replaced")
        real = draft.change.path
        on_disk = digest(read_regular(real)) if os.path.lexists(real) else None
        if on_disk != draft.before:
            raise FileChanged(f"{self.display(real)} has just been changed by another program. Read it again.")

    def _note(self, draft: _Draft, writing: asyncio.Future[None]) -> None:
        if not writing.cancelled() and writing.exception() is None:
            self._seen[draft.change.path] = _Seen(digest(draft.data), draft.encoding)

    def _explained(self, real: Path, error: Exception, consequence: str = "") -> WorkspaceError:
        shown = self.display(real)
        match error:
            case FileNotFoundError():
                return self._path_policy.missing(real)
            case NotAFile():
                hint = "; list it with list_files" if real.is_dir() else "; it is not opened"
                return NotAFile(f"{shown} is {error}, not a file{hint}.")
            case FileNotText():
                return FileNotText(f"{shown} is not text: {error}.")
            case OSError(errno=int(number)) if number in _ERROR_TEXTS:
                return WorkspaceError(f"{shown}: {_ERROR_TEXTS[number]}{consequence}.")
            case _:
                return WorkspaceError(f"{shown}: {error}{consequence}.")


def _read_text(real: Path, seen: _Seen | None, mtime: float) -> FileText:
    data = read_regular(real)
    is_known = seen is not None and seen.encoding != "utf-8" and seen.digest == digest(data)
    return file_text(data, known=seen.encoding if seen is not None and is_known else None, mtime=mtime)


def _some_bytes(real: Path, start: int, limit: int) -> bytes:
    with open_regular(real) as file:
        file.seek(start)
        pieces: list[bytes] = []
        while limit > 0 and (piece := file.read(limit)):
            pieces.append(piece)
            limit -= len(piece)
        return b"".join(pieces)
