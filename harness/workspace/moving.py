"""Moving, copying and deleting files and folders of a workspace.

What a path contained is announced to the observers of the workspace before it changes, so that the user can revert it.
"""

from __future__ import annotations

import asyncio
import logging
import os
import threading
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import TypeVar

from msgspec import Struct

from harness.errors import Aborted, FileMissing, NotAFile, WorkspaceError
from harness.terminal_text import escape_controls
from harness.workspace.disk import is_folder
from harness.workspace.path_policy import is_within
from harness.workspace.trash import Trash
from harness.workspace.trees import Check, Remaining, TreeSize, duplicate, measure, put_back, relocate
from harness.workspace.workspace import Workspace

logger = logging.getLogger(__name__)

T = TypeVar("T")

_MOST_LISTED = 10


class Transfer(Struct, frozen=True):
    """A file or folder that is moved, copied or deleted."""

    source: Path
    target: Path
    """New path; for a deletion, the one in the trash."""
    size: TreeSize
    replaces: bool = False
    """True if a file at the target is replaced."""


async def plan_move(workspace: Workspace, source: str, target: str, *, overwrite: bool = False) -> Transfer:
    """Return the move that `move` would make.

    Args:
        workspace: The workspace.
        source: File, folder or link; a link itself is moved, not its target.
        target: New path, with the name.
        overwrite: True to replace an existing file.

    Raises:
        WorkspaceError: It is not possible; the text is for the model.
    """
    real = await _existing(workspace, workspace.resolve_entry(source))
    _check_removable(workspace, real)
    return await _checked(workspace, real, workspace.resolve_entry(target), overwrite=overwrite)


async def plan_copy(workspace: Workspace, source: str, target: str, *, overwrite: bool = False) -> Transfer:
    """Return the copy that `copy` would make; as `plan_move`, but of a link, its target is copied."""
    real = workspace.resolve(source)
    if not os.path.lexists(real) and (workspace.root / source).is_symlink():
        raise FileMissing(
            f"{source} is a link to {workspace.display(real)}, which does not exist. A link itself can be moved or "
            "deleted, not copied."
        )
    return await _checked(
        workspace, await _existing(workspace, real), workspace.resolve_entry(target), overwrite=overwrite
    )


async def plan_deletion(workspace: Workspace, path: str, trash: Trash) -> Transfer:
    """Return the deletion that `delete` would make, with a new place in the trash.

    Raises:
        WorkspaceError: It is not possible; the text is for the model.
    """
    real = await _existing(workspace, workspace.resolve_entry(path))
    _check_removable(workspace, real)
    return Transfer(real, trash.place_for(real), await _measured(workspace, real))


async def move(workspace: Workspace, transfer: Transfer, trash: Trash) -> list[Remaining]:
    """Move a file or folder as planned; return what stays at its former path, as `relocate` does.

    Raises:
        WorkspaceError: It cannot be moved; the text states what has changed, as a rule nothing.
    """
    source, target = transfer.source, transfer.target
    workspace.observers.changing(source)
    workspace.observers.moving(source, target)
    remaining = await _transfer(workspace, transfer, trash, relocate)
    workspace.reads.transfer(source, target, keep=False)
    return remaining


async def copy(workspace: Workspace, transfer: Transfer, trash: Trash) -> None:
    """Copy a file or folder as planned.

    Raises:
        WorkspaceError: It cannot be copied; the text states what has changed, as a rule nothing.
    """
    await _transfer(workspace, transfer, trash, duplicate)
    workspace.reads.transfer(transfer.source, transfer.target, keep=True)


async def delete(workspace: Workspace, deletion: Transfer, trash: Trash) -> list[Remaining]:
    """Move a file or folder into the trash as planned; return what stays at its path, as `relocate` does.

    Raises:
        WorkspaceError: It cannot be deleted; nothing has changed.
    """
    source, place = deletion.source, deletion.target
    workspace.observers.changing(source)
    workspace.observers.moving(source, place)
    remaining = await _in_thread(workspace, source, lambda check: trash.put(source, place, deletion.size, check))
    workspace.reads.forget(source)
    return remaining


async def restore(workspace: Workspace, now_at: Path, path: Path) -> None:
    """Move a file or folder back to where it was, on behalf of the user. What exists there stays.

    Raises:
        WorkspaceError: Not all of it could be moved; the text states what is where.
    """
    remaining = await asyncio.to_thread(put_back, now_at, path)
    if remaining:
        shown = workspace.display(path)
        raise WorkspaceError(
            f"{shown} was not restored completely. These files are still in {workspace.display(now_at)}: "
            f"{listed(now_at, remaining)}."
            if is_folder(now_at)
            else f"{shown} was not restored: {remaining[0].reason}. Its content is {workspace.display(now_at)}."
        )


def listed(folder: Path, remaining: Sequence[Remaining]) -> str:
    """Return the paths, relative to the folder if they are in it, each with its reason."""
    shown = [
        f"{escape_controls(str(each.path.relative_to(folder)))} ({each.reason})" for each in remaining[:_MOST_LISTED]
    ]
    more = len(remaining) - len(shown)
    return ", ".join(shown) + f" and {more} more" * (more > 0)


async def _transfer(
    workspace: Workspace, transfer: Transfer, trash: Trash, change: Callable[[Path, Path, Check], T]
) -> T:
    source, target = transfer.source, transfer.target
    replaced = trash.place_for(target) if transfer.replaces else None
    workspace.observers.changing(target)
    if replaced:
        workspace.observers.moving(target, replaced)

    def work(check: Check) -> T:
        if replaced:
            try:
                trash.put(target, replaced, measure(target), check)
            except OSError as error:
                raise WorkspaceError(_failure(workspace, target, error)) from error
        elif os.path.lexists(target):
            raise FileExistsError(17, "the destination has just been created")
        try:
            return change(source, target, check)
        except BaseException as error:
            if replaced and (remaining := put_back(replaced, target)):
                text = _half_done(workspace, transfer, replaced, _reason(error), remaining[0].reason)
                logger.warning(text)
                raise WorkspaceError(text) from error
            raise

    return await _in_thread(workspace, source, work)


async def _in_thread(workspace: Workspace, source: Path, work: Callable[[Check], T]) -> T:
    """Run the work in a thread; a cancelled task waits for the thread to clean up."""
    stop = threading.Event()

    def check() -> None:
        if stop.is_set():
            raise Aborted("stopped before anything changed")

    working = asyncio.get_running_loop().run_in_executor(None, partial(work, check))
    try:
        return await asyncio.shield(working)
    except asyncio.CancelledError:
        stop.set()
        await asyncio.wait([working])
        raise
    except (OSError, NotAFile) as error:
        raise WorkspaceError(_failure(workspace, source, error)) from error


def _half_done(workspace: Workspace, transfer: Transfer, replaced: Path, why: str, why_not_back: str) -> str:
    source, target = workspace.display(transfer.source), workspace.display(transfer.target)
    return (
        f"{source}: {why}; it was not changed. But the former {target} had already gone to the trash and could not "
        f"be put back ({why_not_back}): it is {replaced} now. The user can bring it back with /diff."
    )


def _failure(workspace: Workspace, path: Path, error: Exception) -> str:
    return f"{workspace.display(path)}: {_reason(error)}; nothing was changed."


def _reason(error: BaseException) -> str:
    return error.strerror if isinstance(error, OSError) and error.strerror else str(error)


async def _existing(workspace: Workspace, real: Path) -> Path:
    if not os.path.lexists(real):
        # Reading gives the best error, with similar names.
        await workspace.read_bytes(real, limit=1)
    return real


async def _measured(workspace: Workspace, real: Path) -> TreeSize:
    try:
        return await asyncio.to_thread(measure, real)
    except OSError as error:
        raise WorkspaceError(_failure(workspace, real, error)) from error


def _check_removable(workspace: Workspace, real: Path) -> None:
    if is_within(str(workspace.resolve(".")), str(real)):
        raise WorkspaceError(
            f"{workspace.display(real)} contains the working folder, so it can be neither moved nor deleted."
        )


async def _checked(workspace: Workspace, source: Path, target: Path, *, overwrite: bool) -> Transfer:
    shown = workspace.display(target)
    if is_within(str(target), str(source)):
        raise WorkspaceError(f"{shown} is {workspace.display(source)} itself or inside it; name another destination.")
    exists = os.path.lexists(target)
    if exists and is_folder(target) and not target.is_symlink():
        inside = workspace.display(target / source.name)
        raise WorkspaceError(f"{shown} is a folder that exists; name the full new path, such as {inside}.")
    if exists and not overwrite:
        raise WorkspaceError(f"{shown} exists; name another destination, or set overwrite to replace it.")
    return Transfer(source, target, await _measured(workspace, source), exists)
