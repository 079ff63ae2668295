"""delete_path, move_path, copy_path, create_directory and filemap: files and folders as a whole."""

from __future__ import annotations

import asyncio
from typing import Annotated

from msgspec import Meta
from msgspec.structs import replace

from harness.ports.tool import ToolContext, ToolOutput
from harness.risk import PathAccess, Risk
from harness.views import View
from harness.workspace.disk import is_folder
from harness.workspace.workspace import Workspace
from tools.delete import DeleteParameters, DeleteTool
from tools.dialects.cats.window import CatsTool
from tools.documents.outline import outline
from tools.list import listing
from tools.transfer import CopyTool, MoveTool, TransferParameters
from tools.typed import Parameters

KEPT_FOLDERS = frozenset({"src", ".git", "node_modules", "target", ".venv"})
"""Names of folders that `delete_path` refuses, also with `recursive`."""
MAP_DEPTH = 3
MOST_ENTRIES = 200


class DeletePathParameters(Parameters):
    path: Annotated[str, Meta(min_length=1, description="The file or folder.")]
    recursive: Annotated[bool, Meta(description="Delete a folder with everything in it.")] = False


class DeletePathTool(CatsTool[DeletePathParameters]):
    name = "delete_path"
    label = "Delete path"
    text = "Deletes a file or a folder. A folder that is not empty needs recursive."
    mutates = True
    Arguments = DeletePathParameters

    def risk_of(self, arguments: DeletePathParameters) -> Risk:
        return replace(DeleteTool().risk_of(DeleteParameters(path=arguments.path)), rule_name=DeleteTool.name)

    async def preview_of(self, arguments: DeletePathParameters, context: ToolContext) -> View | ToolOutput | None:
        refusal = _refusal(arguments, context.workspace)
        return refusal or await DeleteTool().preview_of(DeleteParameters(path=arguments.path), context)

    async def execute(self, arguments: DeletePathParameters, context: ToolContext) -> ToolOutput:
        refusal = _refusal(arguments, context.workspace)
        return refusal or await DeleteTool().execute(DeleteParameters(path=arguments.path), context)


def _refusal(arguments: DeletePathParameters, workspace: Workspace) -> ToolOutput | None:
    real = workspace.resolve(arguments.path)
    if not is_folder(real):
        return None
    if real.name in KEPT_FOLDERS:
        return ToolOutput.failure(f"{workspace.display(real)} is not deleted: folders named {real.name} are kept.")
    if not arguments.recursive and any(real.iterdir()):
        return ToolOutput.failure(f"{workspace.display(real)} is not empty; set recursive to delete it.")
    return None


class MovePathParameters(Parameters):
    source: Annotated[str, Meta(min_length=1, description="The file or folder.")]
    destination: Annotated[str, Meta(min_length=1, description="Its new path, which must not exist.")]


class CopyPathParameters(MovePathParameters):
    recursive: Annotated[bool, Meta(description="Copy a folder with everything in it.")] = False


class MovePathTool(CatsTool[MovePathParameters]):
    name = "move_path"
    label = "Move path"
    text = "Moves a file or a folder. Missing folders are made."
    mutates = True
    Arguments = MovePathParameters

    def risk_of(self, arguments: MovePathParameters) -> Risk:
        return replace(MoveTool().risk_of(_transfer(arguments)), rule_name=MoveTool.name)

    async def preview_of(self, arguments: MovePathParameters, context: ToolContext) -> View | ToolOutput | None:
        return await MoveTool().preview_of(_transfer(arguments), context)

    async def execute(self, arguments: MovePathParameters, context: ToolContext) -> ToolOutput:
        output = await MoveTool().execute(_transfer(arguments), context)
        self.window.moved(arguments.source, arguments.destination)
        return output


class CopyPathTool(CatsTool[CopyPathParameters]):
    name = "copy_path"
    label = "Copy path"
    text = "Copies a file or, with recursive, a folder. Missing folders are made."
    mutates = True
    Arguments = CopyPathParameters

    def risk_of(self, arguments: CopyPathParameters) -> Risk:
        return replace(CopyTool().risk_of(_transfer(arguments)), rule_name=CopyTool.name)

    async def preview_of(self, arguments: CopyPathParameters, context: ToolContext) -> View | ToolOutput | None:
        refusal = self._refusal(arguments, context.workspace)
        return refusal or await CopyTool().preview_of(_transfer(arguments), context)

    async def execute(self, arguments: CopyPathParameters, context: ToolContext) -> ToolOutput:
        refusal = self._refusal(arguments, context.workspace)
        return refusal or await CopyTool().execute(_transfer(arguments), context)

    @staticmethod
    def _refusal(arguments: CopyPathParameters, workspace: Workspace) -> ToolOutput | None:
        real = workspace.resolve(arguments.source)
        if arguments.recursive or not is_folder(real):
            return None
        return ToolOutput.failure(f"{workspace.display(real)} is a folder; set recursive to copy it.")


class CreateDirectoryParameters(Parameters):
    path: Annotated[str, Meta(min_length=1, description="The folder.")]


class CreateDirectoryTool(CatsTool[CreateDirectoryParameters]):
    name = "create_directory"
    label = "Create folder"
    text = "Creates a folder, with the folders above it."
    mutates = True
    Arguments = CreateDirectoryParameters

    def risk_of(self, arguments: CreateDirectoryParameters) -> Risk:
        return Risk("edit", paths=(arguments.path,), rule_name="write_file")

    async def execute(self, arguments: CreateDirectoryParameters, context: ToolContext) -> ToolOutput:
        real = context.workspace.resolve(arguments.path, writing=True)
        shown = context.workspace.display(real)
        try:
            await asyncio.to_thread(real.mkdir, parents=True)
        except FileExistsError:
            return ToolOutput.failure(f"{shown} exists already.")
        except OSError as error:
            return ToolOutput.failure(f"{shown} cannot be created: {error.strerror}.")
        return ToolOutput.text(f"Created {shown}.")


class FilemapParameters(Parameters):
    file_path: Annotated[str, Meta(min_length=1, description="The file or folder.")]


class FilemapTool(CatsTool[FilemapParameters]):
    name = "filemap"
    label = "Map"
    text = "Shows the structure of a file, as its definitions with their lines, or of a folder, three levels deep."
    Arguments = FilemapParameters

    def risk_of(self, arguments: FilemapParameters) -> Risk:
        return Risk("read", accesses=(PathAccess(arguments.file_path),), rule_name="read_file")

    async def execute(self, arguments: FilemapParameters, context: ToolContext) -> ToolOutput:
        workspace = context.workspace
        real = workspace.resolve(arguments.file_path)
        if is_folder(real):
            return await listing(workspace, real, depth=MAP_DEPTH, limit=MOST_ENTRIES)
        # Only part of the file is shown, so it does not count as read.
        file = await workspace.with_own_reads().read(real)
        entries = await asyncio.to_thread(outline, real.name, file.text)
        if not entries:
            return ToolOutput.text(f"{workspace.display(real)}: no definitions were found. Use open.")
        lines = [f"{each.line:4} | {'  ' * each.depth}{each.text.strip()}" for each in entries[:MOST_ENTRIES]]
        rest = [f"[… {len(entries) - MOST_ENTRIES} more]"] if len(entries) > MOST_ENTRIES else []
        return ToolOutput.text("\n".join([*lines, *rest]))


def _transfer(arguments: MovePathParameters) -> TransferParameters:
    return TransferParameters(source=arguments.source, destination=arguments.destination)
