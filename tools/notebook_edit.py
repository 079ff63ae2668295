"""notebook_edit: replaces, inserts or removes a cell of a Jupyter notebook."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Literal

from msgspec import Meta

from harness.errors import WorkspaceError
from harness.messages import JsonObject
from harness.ports.tool import ToolContext, ToolOutput
from harness.risk import Risk
from harness.views import DiffView, View
from harness.workspace.changes import Change
from harness.workspace.file_text import FileText
from tools.notebook import CellType, Notebook, NotebookError
from tools.post_edit import PostEditStep, finish_edit
from tools.typed import Parameters, TypedTool


class NotebookEditParameters(Parameters):
    path: str
    cell_id: Annotated[
        str | int, Meta(description="Id, or number from 1; insert: of the cell before, empty for the first place.")
    ] = ""
    new_source: str = ""
    cell_type: Annotated[CellType | None, Meta(description="Needed for insert.")] = None
    edit_mode: Literal["replace", "insert", "delete"] = "replace"

    def __post_init__(self) -> None:
        if self.edit_mode == "insert" and self.cell_type is None:
            raise ValueError("give cell_type to insert a cell")
        if self.edit_mode != "insert" and self.cell_id == "":
            raise ValueError("give cell_id: the id of the cell, or its number from 1")


class NotebookEditTool(TypedTool[NotebookEditParameters]):
    name = "notebook_edit"
    label = "Edit notebook"
    mutates = True
    deferred = True
    Arguments = NotebookEditParameters

    def __init__(self, steps: Sequence[PostEditStep] = ()) -> None:
        self._steps = steps

    def summary(self, arguments: JsonObject) -> str:
        path, cell = arguments.get("path", ""), arguments.get("cell_id", "")
        match arguments.get("edit_mode"):
            case "insert":
                return f"{path} · new cell {f'after {cell}' if cell else 'at the beginning'}"
            case "delete":
                return f"{path} · remove cell {cell}"
            case _:
                return f"{path} · cell {cell}"

    def risk_of(self, arguments: NotebookEditParameters) -> Risk:
        return Risk("edit", paths=(arguments.path,), rule_name="edit_file")

    async def preview_of(self, arguments: NotebookEditParameters, context: ToolContext) -> View | ToolOutput | None:
        attempt = _CellEdit(arguments)
        try:
            change = await context.workspace.preview_splice(arguments.path, attempt)
        except (NotebookError, WorkspaceError) as error:
            return ToolOutput.failure(_explained(arguments.path, error))
        output = attempt.output(context.workspace.display(change.path), change)
        return output if output.is_error else output.view

    async def execute(self, arguments: NotebookEditParameters, context: ToolContext) -> ToolOutput:
        attempt = _CellEdit(arguments)
        try:
            change = await context.workspace.splice(arguments.path, attempt)
        except NotebookError as error:
            return ToolOutput.failure(_explained(arguments.path, error))
        output = attempt.output(context.workspace.display(change.path), change)
        return await finish_edit(output, [change], context, self._steps)


def _explained(path: str, error: NotebookError | WorkspaceError) -> str:
    return f"{path}: {error}. Nothing was changed." if isinstance(error, NotebookError) else str(error)


def _shown(old: str, new: str) -> tuple[str, str]:
    """Return texts of a cell for a diff: that none ends with a line feed is usual, and worth no remark."""
    if old.endswith("\n") or new.endswith("\n"):
        return old, new
    return old and f"{old}\n", new and f"{new}\n"


class _CellEdit:
    """Edit of a cell, with its text before and after."""

    def __init__(self, arguments: NotebookEditParameters) -> None:
        self._arguments = arguments
        self._name = ""
        self._old = ""

    def __call__(self, file: FileText) -> FileText:
        notebook = Notebook(file.text)
        given = self._arguments
        name = str(given.cell_id)
        if given.edit_mode == "insert" and given.cell_type is not None:
            index = notebook.find(name) + 1 if name else 0
            text = notebook.inserted(index, given.new_source, given.cell_type)
            self._name = Notebook(text).name(index)
            return file.rewritten(text)
        index = notebook.find(name)
        self._name, self._old = notebook.name(index), notebook.source(index)
        if given.edit_mode == "delete":
            return file.rewritten(notebook.removed(index))
        return file.rewritten(notebook.replaced(index, given.new_source, given.cell_type))

    def output(self, path: str, change: Change) -> ToolOutput:
        if change.old == change.new:
            return ToolOutput.failure(f"{path}: cell {self._name} has this text already. Nothing was changed.")
        mode = self._arguments.edit_mode
        done = {"replace": "Replaced", "insert": "Inserted", "delete": "Removed"}[mode]
        new = "" if mode == "delete" else self._arguments.new_source
        view = DiffView(f"{path} · cell {self._name}", *_shown(self._old, new))
        return ToolOutput.text(
            f"{done} cell {self._name} of {path}.", view=view, details={"path": path, "bytes_written": change.size}
        )
