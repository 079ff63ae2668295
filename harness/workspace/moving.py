"""Moving, copying and deleting files and folders of a workspace.

What a path contained is announced to the observers of the workspace before it changes, so that the user can revert it.
"""

from __future__ import annotations

import asyncio
import os
import threading
from collections.abc import Callable
from functools import partial
from pathlib import Path

from msgspec import Struct

from harness.errors import Aborted, NotAFile, WorkspaceError
from harness.workspace.disk import is_folder
from harness.workspace.path_policy import is_within
from harness.workspace.trash import Trash
from harness.workspace.trees import Check, TreeSize, duplicate, measure, put_back, relocate
from harness.workspace.workspace import Workspace


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
    real = await _existing(workspace, workspace.resolve(source))
    return await _checked(workspace, real, workspace.resolve_entry(target), overwrite=overwrite)


async def plan_deletion(workspace: Workspace, path: str, trash: Trash) -> Transfer:
    """Return the deletion that `delete` would make, with a new place in the trash.

    Raises:
        WorkspaceError: It is not possible; the text is for the model.
    """
    real = await _existing(workspace, workspace.resolve_entry(path))
    _check_removable(workspace, real)
    return Transfer(real, trash.place_for(real), await _measured(workspace, real))


async def move(workspace: Workspace, transfer: Transfer, trash: Trash) -> None:
    """Move a file or folder as planned.

    Raises:
        WorkspaceError: It cannot be moved; nothing has changed.
    """
    await _transfer(workspace, transfer, trash, relocate)
    workspace.reads.transfer(transfer.source, transfer.target, keep=False)


async def copy(workspace: Workspace, transfer: Transfer, trash: Trash) -> None:
    """Copy a file or folder as planned.

    Raises:
        WorkspaceError: It cannot be copied; nothing has changed.
    """
    await _transfer(workspace, transfer, trash, duplicate)
    workspace.reads.transfer(transfer.source, transfer.target, keep=True)


async def delete(workspace: Workspace, deletion: Transfer, trash: Trash) -> None:
    """Move a file or folder into the trash as planned.

    Raises:
        WorkspaceError: It cannot be deleted; nothing has changed.
    """
    workspace.observers.changing(deletion.source)
    workspace.observers.moving(deletion.source, deletion.target)
    await _in_thread(
        workspace, deletion, lambda check: trash.put(deletion.source, deletion.target, deletion.size, check)
    )
    workspace.reads.forget(deletion.source)


async def restore(workspace: Workspace, now_at: Path, path: Path) -> None:
    """Move a file or folder back to where it was, on behalf of the user. What exists there stays.

    Raises:
        WorkspaceError: It cannot be moved, or parts of it exist there.
    """
    shown = workspace.display(path)
    try:
        left = await asyncio.to_thread(put_back, now_at, path)
    except OSError as error:
        raise WorkspaceError(f"{shown} cannot be restored: {error.strerror}.") from error
    if left:
        raise WorkspaceError(f"{left} of the files exist at {shown} and were not replaced; the others are restored.")


async def _transfer(
    workspace: Workspace, transfer: Transfer, trash: Trash, change: Callable[[Path, Path, Check], None]
) -> None:
    source, target = transfer.source, transfer.target
    replaced = trash.place_for(target) if transfer.replaces else None
    if change is relocate:
        workspace.observers.changing(source)
        workspace.observers.moving(source, target)
    workspace.observers.changing(target)
    if replaced:
        workspace.observers.moving(target, replaced)

    def work(check: Check) -> None:
        if replaced:
            trash.put(target, replaced, measure(target), check)
        elif os.path.lexists(target):
            raise FileExistsError(17, "the destination has just been created")
        try:
            change(source, target, check)
        except BaseException:
            if replaced:
                put_back(replaced, target)
            raise

    await _in_thread(workspace, transfer, work)


async def _in_thread(workspace: Workspace, transfer: Transfer, work: Callable[[Check], None]) -> None:
    """Run the work in a thread; a cancelled task waits for the thread to clean up."""
    stop = threading.Event()

    def check() -> None:
        if stop.is_set():
            raise Aborted("stopped before anything changed")

    working = asyncio.get_running_loop().run_in_executor(None, partial(work, check))
    try:
        await asyncio.shield(working)
    except asyncio.CancelledError:
        stop.set()
        await asyncio.wait([working])
        raise
    except (OSError, NotAFile) as error:
        why = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        raise WorkspaceError(f"{workspace.display(transfer.source)}: {why}; nothing was changed.") from error


async def _existing(workspace: Workspace, real: Path) -> Path:
    if not os.path.lexists(real):
        # Reading gives the best error, with similar names.
        await workspace.read_bytes(real, limit=1)
    return real


async def _measured(workspace: Workspace, real: Path) -> TreeSize:
    try:
        return await asyncio.to_thread(measure, real)
    except OSError as error:
        raise WorkspaceError(f"{workspace.display(real)}: {error.strerror}; nothing was changed.") from error


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
