"""move_file and copy_file: a file or folder at another path."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, ClassVar

from msgspec import Meta
from msgspec.structs import replace

from harness.approval.path_lists import protection_of
from harness.errors import WorkspaceError
from harness.messages import JsonObject, Text
from harness.ports.tool import ToolContext, ToolOutput
from harness.risk import PathAccess, Risk
from harness.terminal_text import escape_controls
from harness.views import TextView, View
from harness.workspace.disk import is_folder
from harness.workspace.moving import Transfer, copy, listed, move, plan_copy, plan_move
from harness.workspace.trash import Trash
from harness.workspace.trees import Remaining, reachable
from harness.workspace.workspace import Workspace
from tools.typed import Parameters, TypedTool

MOST_CHECKED = 500_000
"""Files and folders that are compared with the protected paths, those that links lead to included."""


class TransferParameters(Parameters):
    source: Annotated[str, Meta(description="The file or folder.")]
    destination: Annotated[str, Meta(description="Its new path, with the name. Missing folders are made.")]
    overwrite: Annotated[bool, Meta(description="Replace an existing file; it goes to the trash.")] = False


class TransferTool(TypedTool[TransferParameters]):
    """Base of both tools."""

    mutates = True
    deferred = True
    Arguments = TransferParameters
    verb: ClassVar[str]
    done: ClassVar[str]

    def summary(self, arguments: JsonObject) -> str:
        return " → ".join(each for key in ("source", "destination") if isinstance(each := arguments.get(key), str))

    async def preview_of(self, arguments: TransferParameters, context: ToolContext) -> View | ToolOutput | None:
        try:
            transfer = await self.planned(arguments, context.workspace)
            await asyncio.to_thread(_check_new_paths, context.workspace, transfer)
        except WorkspaceError as error:
            return ToolOutput.failure(str(error))
        source, target = _paths(context.workspace, transfer)
        replaced = f"\n{target} exists and is replaced; it goes to the trash." if transfer.replaces else ""
        return TextView(f"{self.verb} {source} → {target}\n{transfer.size}{replaced}")

    async def execute(self, arguments: TransferParameters, context: ToolContext) -> ToolOutput:
        workspace = context.workspace
        transfer = await self.planned(arguments, workspace)
        await asyncio.to_thread(_check_new_paths, workspace, transfer)
        remaining = await self.transfer(workspace, transfer, trash_of(context))
        source, target = _paths(workspace, transfer)
        replaced = f" The former {target} is in the trash." if transfer.replaces else ""
        details: JsonObject = {
            "source": workspace.display(transfer.source),
            "destination": workspace.display(transfer.target),
            "files": transfer.size.files,
            "bytes": transfer.size.size,
        }
        text = f"{self.done} {source} to {target}: {transfer.size}.{replaced}"
        view = TextView(f"{source} → {target}\n{transfer.size}")
        return with_remaining(ToolOutput.text(text, view=view, details=details), workspace, transfer, remaining)

    async def planned(self, arguments: TransferParameters, workspace: Workspace) -> Transfer:
        raise NotImplementedError

    async def transfer(self, workspace: Workspace, transfer: Transfer, trash: Trash) -> Sequence[Remaining]:
        raise NotImplementedError


class MoveTool(TransferTool):
    name = "move_file"
    label = "Move file"
    verb = "Move"
    done = "Moved"

    def risk_of(self, arguments: TransferParameters) -> Risk:
        source, destination = arguments.source, arguments.destination
        return Risk(
            "edit",
            f"it moves {source} to {destination}",
            paths=(source, destination),
            # At another path, a secret would no longer be recognized.
            accesses=(PathAccess(source, "search"),),
            removals=(PathAccess(source, "write"),),
        )

    async def planned(self, arguments: TransferParameters, workspace: Workspace) -> Transfer:
        return await plan_move(workspace, arguments.source, arguments.destination, overwrite=arguments.overwrite)

    async def transfer(self, workspace: Workspace, transfer: Transfer, trash: Trash) -> Sequence[Remaining]:
        return await move(workspace, transfer, trash)


class CopyTool(TransferTool):
    name = "copy_file"
    label = "Copy file"
    verb = "Copy"
    done = "Copied"

    def risk_of(self, arguments: TransferParameters) -> Risk:
        source, destination = arguments.source, arguments.destination
        return Risk(
            "edit",
            f"it copies {source} to {destination}",
            paths=(destination,),
            accesses=(PathAccess(source, "search"),),
            # The locks know only the paths that change.
            access="exclusive",
        )

    async def planned(self, arguments: TransferParameters, workspace: Workspace) -> Transfer:
        return await plan_copy(workspace, arguments.source, arguments.destination, overwrite=arguments.overwrite)

    async def transfer(self, workspace: Workspace, transfer: Transfer, trash: Trash) -> Sequence[Remaining]:
        await copy(workspace, transfer, trash)
        return ()


def _check_new_paths(workspace: Workspace, transfer: Transfer) -> None:
    """Check that nothing in a folder gets a protected path unless the folder does, about which the user was asked.

    Raises:
        WorkspaceError: Something does.
    """
    folder = workspace.display(transfer.target)
    # A link to a folder gives new paths to what is in it, too.
    if not is_folder(transfer.source) or protection_of(folder):
        return
    for count, path in enumerate(reachable(transfer.source)):
        if count > MOST_CHECKED:
            raise WorkspaceError(
                f"{workspace.display(transfer.source)} leads to too many files to check for protected paths. Move or "
                "copy parts of it. Nothing was changed."
            )
        if why := protection_of(f"{folder}/{path}"):
            raise WorkspaceError(
                f"{folder}/{path} would be a protected path: {why}. Move or copy the files one by one, so that the "
                "user can decide about each. Nothing was changed."
            )


def with_remaining(
    output: ToolOutput, workspace: Workspace, transfer: Transfer, remaining: Sequence[Remaining]
) -> ToolOutput:
    """Return an output that also states what a move left at its former path, as a failure if it left something."""
    if not remaining:
        return output
    shown = shown_path(workspace, transfer.source, is_folder=True)
    copies = shown_path(workspace, transfer.target, is_folder=True)
    text = f"Not all of it was removed from {shown}: {listed(transfer.source, remaining)}. "
    text += f"What was there before is in {copies}; compare before you remove the rest."
    view = TextView(f"{output.view.text}\n{text}") if isinstance(output.view, TextView) else output.view
    return replace(output, content=(*output.content, Text(f"\n{text}")), view=view, is_error=True)


def trash_of(context: ToolContext) -> Trash:
    """Return the trash of the workspace, or one next to the output of tools."""
    return Trash(context.workspace.trash or context.spill_dir / "trash")


def shown_path(workspace: Workspace, path: Path, *, is_folder: bool) -> str:
    return escape_controls(workspace.display(path)).replace("\n", "␊") + "/" * is_folder


def _paths(workspace: Workspace, transfer: Transfer) -> tuple[str, str]:
    source, target = (
        shown_path(workspace, path, is_folder=transfer.size.is_folder) for path in (transfer.source, transfer.target)
    )
    return source, target
