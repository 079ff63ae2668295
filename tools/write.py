"""write_file: a new file, or the whole content of one that was read."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

from msgspec import Meta

from harness.errors import WorkspaceError
from harness.messages import JsonObject
from harness.ports.tool import Revisable, ToolContext, ToolOutput
from harness.risk import Risk
from harness.views import DiffView, View
from harness.workspace.changes import Change
from harness.workspace.workspace import Workspace
from tools.post_edit import PostEditStep, finish_edit
from tools.typed import Parameters, TypedTool


class WriteParameters(Parameters):
    path: Annotated[
        str, Meta(description="The file, relative to the working folder or absolute. Missing folders are made.")
    ]
    content: Annotated[str, Meta(description="The whole content of the file.")]


class WriteTool(TypedTool[WriteParameters], Revisable):
    name = "write_file"
    label = "Write file"
    mutates = True
    Arguments = WriteParameters

    def __init__(self, steps: Sequence[PostEditStep] = ()) -> None:
        self._steps = steps

    def risk_of(self, arguments: WriteParameters) -> Risk:
        return Risk("edit", paths=(arguments.path,))

    async def preview_of(self, arguments: WriteParameters, context: ToolContext) -> View | ToolOutput | None:
        try:
            change = await context.workspace.preview_write(arguments.path, arguments.content)
        except WorkspaceError as error:
            return ToolOutput.failure(str(error))
        # A change without effect needs no approval.
        return _output(context.workspace, change) if change.old == change.new else _view(context.workspace, change)

    def revised(self, arguments: JsonObject, view: View, text: str) -> JsonObject | None:
        return {**arguments, "content": text} if isinstance(view, DiffView) else None

    async def execute(self, arguments: WriteParameters, context: ToolContext) -> ToolOutput:
        change = await context.workspace.write(arguments.path, arguments.content)
        return await finish_edit(_output(context.workspace, change), [change], context, self._steps)


def _output(workspace: Workspace, change: Change) -> ToolOutput:
    path = workspace.display(change.path)
    lines = change.new.count("\n") + (change.new[-1:] not in ("", "\n"))
    if change.old == change.new:
        text = f"{path} already has this content; nothing was changed."
    else:
        text = f"{'Created' if change.old is None else 'Replaced'} {path}: {lines} lines, {change.size:,} bytes."
    return ToolOutput.text(
        text,
        view=_view(workspace, change),
        details={"path": path, "bytes_written": change.size, "is_new_file": change.old is None},
    )


def _view(workspace: Workspace, change: Change) -> DiffView:
    return DiffView(workspace.display(change.path), change.old, change.new)
