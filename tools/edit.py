"""edit_file: replaces text in a file, in several places at once, all or none."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, TypeAlias

from msgspec import UNSET, Meta, UnsetType, field

from harness.errors import WorkspaceError
from harness.messages import JsonObject, JsonValue
from harness.ports.tool import Revisable, ToolContext, ToolOutput
from harness.risk import Risk
from harness.views import DiffView, View
from harness.workspace.changes import Change
from harness.workspace.file_text import FileText
from tools.editing.edits import AppliedEdits, Edit, RejectedEdits, apply_edits, described_lines, edits_for
from tools.post_edit import PostEditStep, finish_edit
from tools.typed import Parameters, TypedTool

_Old: TypeAlias = Annotated[str, Meta(description="The text to replace, exactly as in the file.")]
_New: TypeAlias = Annotated[str, Meta(description="The new text; empty deletes.")]
_All: TypeAlias = Annotated[bool, Meta(description="Replace every occurrence.")]


class Replacement(Parameters):
    old_string: Annotated[str, Meta(description="The text to replace.")]
    new_string: _New
    replace_all: _All = False


class EditParameters(Parameters):
    path: Annotated[str, Meta(description="The file, relative to the working folder or absolute.")]
    old_string: _Old | UnsetType = UNSET
    new_string: _New | UnsetType = UNSET
    replace_all: _All = False
    edits: Annotated[
        list[Replacement],
        Meta(
            description="Several replacements in this file, in order, all or none; "
            "instead of old_string and new_string."
        ),
    ] = field(default_factory=list[Replacement])

    def __post_init__(self) -> None:
        if not self.edits and UNSET in (self.old_string, self.new_string):
            raise ValueError("give old_string and new_string (empty to delete), or edits")

    @property
    def all_edits(self) -> list[Edit]:
        several = [Edit(each.old_string, each.new_string, each.replace_all) for each in self.edits]
        if several and not (self.old_string or self.new_string):
            return several
        return [Edit(self.old_string or "", self.new_string or "", self.replace_all), *several]


class EditTool(TypedTool[EditParameters], Revisable):
    name = "edit_file"
    label = "Edit file"
    mutates = True
    Arguments = EditParameters

    def __init__(self, steps: Sequence[PostEditStep] = ()) -> None:
        self._steps = steps

    def summary(self, arguments: JsonObject) -> str:
        path = next((arguments[name] for name in ("path", "file_path", "filePath") if name in arguments), "")
        return path if isinstance(path, str) else ""

    def risk_of(self, arguments: EditParameters) -> Risk:
        return Risk("edit", paths=(arguments.path,))

    async def preview_of(self, arguments: EditParameters, context: ToolContext) -> View | ToolOutput | None:
        attempt = _PendingEdits(arguments.all_edits)
        try:
            change = await context.workspace.preview_splice(arguments.path, attempt)
        except WorkspaceError as error:
            return ToolOutput.failure(str(error))
        output = _output(context.workspace.display(change.path), attempt, change)
        return output if output.is_error else output.view

    def revised(self, arguments: JsonObject, view: View, text: str) -> JsonObject | None:
        if not isinstance(view, DiffView):
            return None
        edits: list[JsonValue] = [{"old_string": edit.old, "new_string": edit.new} for edit in edits_for(view, text)]
        return {"path": arguments["path"], "edits": edits}

    async def execute(self, arguments: EditParameters, context: ToolContext) -> ToolOutput:
        attempt = _PendingEdits(arguments.all_edits)
        change = await context.workspace.splice(arguments.path, attempt)
        output = _output(context.workspace.display(change.path), attempt, change)
        return await finish_edit(output, [change], context, self._steps)


class _PendingEdits:
    """Edits with their outcome; a file they do not match is left unchanged."""

    def __init__(self, edits: list[Edit]) -> None:
        self._edits = edits
        self.outcome: AppliedEdits | RejectedEdits = RejectedEdits("The edits were not applied.")

    def __call__(self, file: FileText) -> FileText:
        self.outcome = apply_edits(file, self._edits)
        return self.outcome.file if isinstance(self.outcome, AppliedEdits) else file


def _output(path: str, attempt: _PendingEdits, change: Change) -> ToolOutput:
    match attempt.outcome:
        case RejectedEdits(reason):
            return ToolOutput.failure(f"{path}: {reason}")
        case AppliedEdits() if change.old == change.new:
            return ToolOutput.failure(f"{path}: the edits leave the file as it is. Nothing was changed.")
        case AppliedEdits(_, regions, places, notes):
            where = f"{places} places" if places > 1 else "1 place"
            remarks = "".join(f" {note[0].upper()}{note[1:]}." for note in notes)
            return ToolOutput.text(
                f"Edited {path}: {where}, now {described_lines(regions)}.{remarks}",
                view=DiffView(path, change.old, change.new),
                details={"path": path, "places": places, "bytes_written": change.size},
            )
