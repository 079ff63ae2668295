"""Workspace: the folders the agent works in, and the only way to change a file in them.

A file is changed only after it was read, only if it is unchanged since, and atomically: encoding, line endings, mode
and links are preserved, and an error leaves no trace.
"""

from __future__ import annotations

import asyncio
import errno
import os
import threading
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import AsyncExitStack
from copy import copy
from functools import partial
from pathlib import Path
from weakref import WeakValueDictionary

from msgspec.structs import replace

from harness.errors import Aborted, FileChanged, FileNotRead, FileNotText, FileTooLarge, NotAFile, WorkspaceError
from harness.workspace.changes import Change, Draft, EditedFile, FileEdit, NewFile, RemovedFile
from harness.workspace.disk import open_regular, read_regular, regular_status
from harness.workspace.encoding import encode
from harness.workspace.excerpt import Excerpt, excerpt_of
from harness.workspace.file_text import FileText, digest, file_text
from harness.workspace.observers import Observers
from harness.workspace.path_policy import PathPolicy
from harness.workspace.read_record import ReadRecord, SeenFile
from harness.workspace.transaction import FileWrite, WriteFailed, write_all

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


class Workspace:
    """Access to files under `root` and `extra`, and read access under `readable`.

    All methods accept a path as a model writes it, and raise a `WorkspaceError` with a text for the model.

    Args:
        root: Working folder.
        extra: Further folders that may be changed.
        readable: Folders that may only be read.
        trash: Folder for deleted files; None: that of the output of tools.
    """

    def __init__(
        self, root: Path, extra: Sequence[Path] = (), *, readable: Sequence[Path] = (), trash: Path | None = None
    ) -> None:
        self.root = root
        self.trash = trash
        self._path_policy = PathPolicy(root, tuple(extra), tuple(readable))
        self.reads = ReadRecord()
        """Files that were read."""
        self._locks: WeakValueDictionary[Path, asyncio.Lock] = WeakValueDictionary()
        self.observers = Observers()

    def resolve(self, path: str | Path, *, writing: bool = False) -> Path:
        """Resolve a path, relative to the root, with `~` expanded.

        Args:
            path: File or folder, which need not exist.
            writing: True if the file is to be changed: some paths may only be read.

        Raises:
            OutsideWorkspace: The path is not allowed.
        """
        return self._path_policy.resolve(path, writing=writing)

    def resolve_entry(self, path: str | Path) -> Path:
        """Resolve a path that is to be moved or deleted: of a link, the link itself, not its target.

        Raises:
            OutsideWorkspace: The path may not be changed.
        """
        folder, name = os.path.split(str(path).rstrip("/"))
        if name in ("", ".", "..") or name.startswith("~") or "\0" in name:
            return self.resolve(path, writing=True)
        real = self._path_policy.located(folder) / name
        if not self.covers(str(real), writing=True):
            self.resolve(real.parent, writing=True)
        return real

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
        other.reads = ReadRecord()
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
        self.reads.update(other.reads)

    def allow_reading(self, folder: Path) -> None:
        """Allow reading under `folder` from now on."""
        self._path_policy = self._path_policy.extended(readable=(folder,))

    def on_change(self, listener: Callable[[Path], None]) -> None:
        """Call `listener` with each resolved path just before it changes. If it raises, nothing is changed."""
        self.observers.on_change(listener)

    async def read(self, path: str | Path) -> FileText:
        """Read a whole text file, which then may be changed.

        Raises:
            FileTooLarge: The file is over 10 MB; use `excerpt` to read parts of it.
        """
        real = self.resolve(path)
        file = await self._load(real)
        self.reads[real] = SeenFile(file.digest, file.encoding)
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

    async def change_all(self, edits: Sequence[FileEdit]) -> tuple[Change, ...]:
        """Make changes of several files, all or none.

        Every change is prepared before the first file is written. If a file then cannot be written, those before it are
        restored.

        Args:
            edits: At most one for each file; files to change or remove must have been read and be unchanged since.

        Returns:
            One change for each edit; for a moved file, with the new path.
        """
        places = self._places(edits)
        async with AsyncExitStack() as stack:
            for place in sorted(places):
                await stack.enter_async_context(self._locks.setdefault(place, asyncio.Lock()))
            drafts = [await self._drafts(edit) for edit in edits]
            writes = [draft for each in drafts for draft in each if draft.has_effect]
            for draft in writes:
                self.observers.changing(draft.change.path)
            # A file is removed once its copy is there.
            await self._write(sorted(writes, key=lambda draft: draft.data is None))
            return tuple(each[0].change for each in drafts)

    async def preview_all(self, edits: Sequence[FileEdit]) -> tuple[Change, ...]:
        """Return the changes that `change_all` would make, with the same errors."""
        self._places(edits)
        return tuple([(await self._drafts(edit))[0].change for edit in edits])

    async def restore(self, path: str | Path, data: bytes | None, *, now: str | None) -> None:
        """Restore the bytes of a file, or remove it if None, provided its digest is `now` (None: it does not exist)."""
        real = self.resolve(path, writing=True)
        draft = Draft(Change(real, None, "", len(data or b"")), data, "utf-8", now)
        async with self._locks.setdefault(real, asyncio.Lock()):
            self.observers.changing(real)
            await self._write([draft])

    async def _make(self, path: str | Path, draft_of: Callable[[Path], Awaitable[Draft]]) -> Change:
        real = self.resolve(path, writing=True)
        async with self._locks.setdefault(real, asyncio.Lock()):
            draft = await draft_of(real)
            if draft.has_effect:
                self.observers.changing(real)
                await self._write([draft])
            return draft.change

    def _places(self, edits: Sequence[FileEdit]) -> list[Path]:
        """Return the resolved paths of the edits; each must be another."""
        paths = [path for edit in edits for path in (edit.path, getattr(edit, "target", "")) if path]
        places = [self.resolve(path, writing=True) for path in paths]
        for place in places:
            if places.count(place) > 1:
                raise WorkspaceError(f"{self.display(place)} is named twice; nothing was changed.")
        return places

    async def _drafts(self, edit: FileEdit) -> tuple[Draft, ...]:
        """Return the draft of an edit; of a moved file, that of the new path first."""
        real = self.resolve(edit.path, writing=True)
        match edit:
            case NewFile(text=text):
                self._check_free(real)
                return (await self._draft_write(real, text),)
            case RemovedFile():
                file = await self._load(real)
                self._check_fresh(real, file)
                change = Change(real, file.text, "", 0, is_removed=True)
                return (Draft(change, None, file.encoding, file.digest),)
            case EditedFile(target=""):
                return (await self._draft_splice(real, edit.edit),)
            case EditedFile(target=target):
                place = self.resolve(target, writing=True)
                self._check_free(place)
                draft = await self._draft_splice(real, edit.edit)
                moved = replace(draft, change=replace(draft.change, path=place), before=None, like=os.lstat(real))
                removal = replace(draft, change=replace(draft.change, new="", is_removed=True), data=None)
                return moved, removal

    def _check_free(self, real: Path) -> None:
        if os.path.lexists(real):
            raise WorkspaceError(f"{self.display(real)} exists already, so it cannot be created; nothing was changed.")

    async def _draft_write(self, real: Path, text: str) -> Draft:
        if not os.path.lexists(real):
            if len(text) > MAX_EDITABLE:
                raise FileTooLarge(f"{self.display(real)} would be over 10 MB; create it with a command instead.")
            data = self._encoded(real, lambda: encode(text, "utf-8"))
            return Draft(Change(real, None, text, len(data)), data, "utf-8", None)
        return await self._draft_splice(real, lambda file: file.rewritten(text))

    async def _draft_splice(self, real: Path, edit: Callable[[FileText], FileText]) -> Draft:
        file = await self._load(real)
        self._check_fresh(real, file)
        edited = edit(file) if file.size <= _INLINE else await asyncio.to_thread(edit, file)
        data = self._encoded(real, lambda: edited.data)
        return Draft(Change(real, file.text, edited.text, len(data)), data, file.encoding, file.digest)

    def _check_fresh(self, real: Path, file: FileText) -> None:
        seen = self.reads.get(real)
        if seen is None and file.size > 0:
            raise FileNotRead(f"{self.display(real)} has not been read in this session. Read it, then change it.")
        if seen is not None and seen.digest != file.digest:
            raise FileChanged(
                f"{self.display(real)} has changed on disk since it was read. Read it again, then repeat the change."
            )

    async def _load(self, real: Path) -> FileText:
        try:
            status = regular_status(real)
            if status.st_size > MAX_EDITABLE:
                raise FileTooLarge(f"{self.display(real)} is over 10 MB: it can be read in parts, but not edited.")
            if status.st_size <= _INLINE:
                return _read_text(real, self.reads.get(real), status.st_mtime)
            return await asyncio.to_thread(_read_text, real, self.reads.get(real), status.st_mtime)
        except (OSError, NotAFile, FileNotText) as error:
            raise self._explained(real, error) from error

    def _encoded(self, real: Path, data: Callable[[], bytes]) -> bytes:
        try:
            return data()
        except FileNotText as error:
            raise FileNotText(f"{self.display(real)}: {error}.") from error

    async def _write(self, drafts: Sequence[Draft]) -> None:
        """Write in a thread, because a disk may be slow; a cancelled task waits for the thread to clean up."""
        stop = threading.Event()
        befores = {draft.change.path: draft.before for draft in drafts}
        guard = partial(self._check_still, befores, stop)
        writes = [draft.write for draft in drafts]
        writing = asyncio.get_running_loop().run_in_executor(None, write_all, writes, guard)
        writing.add_done_callback(partial(self._note, drafts))
        try:
            await asyncio.shield(writing)
        except asyncio.CancelledError:
            stop.set()
            await asyncio.wait([writing])
            raise
        except WriteFailed as failed:
            raise self._failure(failed) from failed.__cause__

    def _failure(self, failed: WriteFailed) -> Exception:
        """Return the error for the model, or the one that the guard raised."""
        kept = ", ".join(map(self.display, failed.unrestored))
        consequence = f"; {kept} could not be restored and is changed" if kept else "; nothing was changed"
        match failed.__cause__:
            case OSError() | NotAFile() as error:
                return self._explained(failed.path, error, consequence)
            case WorkspaceError() as error if kept:
                return WorkspaceError(f"{error}{consequence}")
            case error:
                assert isinstance(error, Exception)
                return error

    def _check_still(self, befores: Mapping[Path, str | None], stop: threading.Event, write: FileWrite) -> None:
        if stop.is_set():
            raise Aborted("stopped before the file was replaced")
        real = write.path
        on_disk = digest(read_regular(real)) if os.path.lexists(real) else None
        if on_disk != befores[real]:
            raise FileChanged(f"{self.display(real)} has just been changed by another program. Read it again.")

    def _note(self, drafts: Sequence[Draft], writing: asyncio.Future[None]) -> None:
        if writing.cancelled() or writing.exception() is not None:
            return
        for draft in drafts:
            if draft.data is None:
                self.reads.pop(draft.change.path, None)
            else:
                self.reads[draft.change.path] = SeenFile(digest(draft.data), draft.encoding)

    def _explained(self, real: Path, error: Exception, consequence: str = "") -> WorkspaceError:
        shown = self.display(real)
        match error:
            case FileNotFoundError():
                return self._path_policy.missing(real)
            case NotAFile():
                hint = "; list it" if real.is_dir() else "; it is not opened"
                return NotAFile(f"{shown} is {error}, not a file{hint}.")
            case FileNotText():
                return FileNotText(f"{shown} is not text: {error}.")
            case OSError(errno=int(number)) if number in _ERROR_TEXTS:
                return WorkspaceError(f"{shown}: {_ERROR_TEXTS[number]}{consequence}.")
            case _:
                return WorkspaceError(f"{shown}: {error}{consequence}.")


def _read_text(real: Path, seen: SeenFile | None, mtime: float) -> FileText:
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
