"""delete_file: a file or folder into the trash, from which the user can restore it."""

from __future__ import annotations

import asyncio
import os
from itertools import islice
from pathlib import Path
from typing import Annotated

from msgspec import Meta

from harness.errors import FileNotText, NotAFile, WorkspaceError
from harness.messages import JsonObject
from harness.ports.tool import ToolContext, ToolOutput
from harness.risk import PathAccess, Risk
from harness.terminal_text import escape_controls
from harness.views import DiffView, TextView, View
from harness.workspace.disk import read_regular
from harness.workspace.file_text import file_text
from harness.workspace.moving import Transfer, delete, plan_deletion
from harness.workspace.workspace import Workspace
from tools.transfer import shown_path, trash_of, with_remaining
from tools.typed import Parameters, TypedTool

_LARGEST_SHOWN = 256 * 1024
_MOST_LISTED = 50
_RESTORE = "It goes to the trash; /diff brings it back."


class DeleteParameters(Parameters):
    path: Annotated[str, Meta(description="The file or folder; of a link, the link itself.")]


class DeleteTool(TypedTool[DeleteParameters]):
    name = "delete_file"
    label = "Delete file"
    mutates = True
    deferred = True
    Arguments = DeleteParameters

    def risk_of(self, arguments: DeleteParameters) -> Risk:
        path = arguments.path
        return Risk("edit", f"it deletes {path}", paths=(path,), removals=(PathAccess(path, "write"),))

    async def preview_of(self, arguments: DeleteParameters, context: ToolContext) -> View | ToolOutput | None:
        try:
            deletion = await plan_deletion(context.workspace, arguments.path, trash_of(context))
        except WorkspaceError as error:
            return ToolOutput.failure(str(error))
        return await asyncio.to_thread(_view, context.workspace, deletion)

    async def execute(self, arguments: DeleteParameters, context: ToolContext) -> ToolOutput:
        workspace, trash = context.workspace, trash_of(context)
        deletion = await plan_deletion(workspace, arguments.path, trash)
        view = await asyncio.to_thread(_view, workspace, deletion)
        remaining = await delete(workspace, deletion, trash)
        shown = shown_path(workspace, deletion.source, is_folder=deletion.size.is_folder)
        details: JsonObject = {
            "path": workspace.display(deletion.source),
            "files": deletion.size.files,
            "bytes": deletion.size.size,
        }
        text = f"Deleted {shown}: {deletion.size}. It is in the trash, and the user can bring it back with /diff."
        return with_remaining(ToolOutput.text(text, view=view, details=details), workspace, deletion, remaining)


def _view(workspace: Workspace, deletion: Transfer) -> View:
    size = deletion.size
    shown = shown_path(workspace, deletion.source, is_folder=size.is_folder)
    if size.is_folder:
        return TextView("\n".join([f"Delete {shown}", str(size), *_listed(deletion.source, size.files), _RESTORE]))
    if size.size <= _LARGEST_SHOWN:
        try:
            return DiffView(workspace.display(deletion.source), file_text(read_regular(deletion.source)).text)
        except (OSError, NotAFile, FileNotText):
            pass
    return TextView(f"Delete {shown}\n{size}\n{_RESTORE}")


def _listed(folder: Path, total: int) -> list[str]:
    """Return the first files of a folder, as lines."""
    files = (Path(top, name).relative_to(folder) for top, _, names in os.walk(folder) for name in sorted(names))
    lines = [f"  {escape_controls(str(each))}".replace("\n", "␊") for each in islice(files, _MOST_LISTED)]
    return [*lines, f"  … and {total - len(lines):,} more"] if total > len(lines) else lines
