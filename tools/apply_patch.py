"""apply_patch: changes, creates, moves and removes files as a patch describes, all or none."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

from msgspec import Meta, Struct

from harness.errors import WorkspaceError
from harness.messages import JsonObject
from harness.ports.tool import Revisable, ToolContext, ToolOutput
from harness.risk import Risk
from harness.views import DiffView, TextView, View
from harness.workspace.changes import Change, EditedFile, FileEdit, NewFile, RemovedFile
from harness.workspace.file_text import FileText
from harness.workspace.unified_diff import unified, unified_hunks
from harness.workspace.workspace import Workspace
from tools.editing.edits import AppliedEdits, described_lines
from tools.patch.applying import apply_hunks
from tools.patch.parsing import parse_patch
from tools.patch.patch import FilePatch, PatchError
from tools.post_edit import PostEditStep, finish_edit
from tools.typed import Parameters, TypedTool

_NOTHING_WAS_CHANGED = "No file was changed."


class PatchParameters(Parameters):
    patch: Annotated[str, Meta(description="The patch, from *** Begin Patch to *** End Patch, or a unified diff.")]


class ApplyPatchTool(TypedTool[PatchParameters], Revisable):
    name = "apply_patch"
    label = "Apply patch"
    mutates = True
    Arguments = PatchParameters

    def __init__(self, steps: Sequence[PostEditStep] = ()) -> None:
        self._steps = steps

    def summary(self, arguments: JsonObject) -> str:
        text = next((value for value in arguments.values() if isinstance(value, str)), "")
        try:
            patches = parse_patch(text)
        except PatchError:
            return ""
        return ", ".join(patch.path for patch in patches)

    def risk_of(self, arguments: PatchParameters) -> Risk:
        try:
            patches = parse_patch(arguments.patch)
        except PatchError:
            return Risk("edit", rule_name="edit_file")  # the preview rejects it
        paths = [path for patch in patches for path in (patch.path, patch.target) if path]
        removed = ", ".join(patch.path for patch in patches if patch.kind == "delete")
        return Risk("edit", f"removes {removed}" if removed else "", tuple(paths), rule_name="edit_file")

    async def preview_of(self, arguments: PatchParameters, context: ToolContext) -> View | ToolOutput | None:
        try:
            attempt = _Attempt.of(arguments.patch)
            changes = await context.workspace.preview_all(attempt.edits)
        except (PatchError, WorkspaceError) as error:
            return _failure(error)
        output = attempt.output(context.workspace, changes)
        return output if output.is_error else output.view

    def revised(self, arguments: JsonObject, view: View, text: str) -> JsonObject | None:
        if not isinstance(view, DiffView):
            return None
        before = "/dev/null" if view.old is None else view.path
        return {"patch": f"--- {before}\n+++ {view.path}\n{unified_hunks(DiffView(view.path, view.old, text))}"}

    async def execute(self, arguments: PatchParameters, context: ToolContext) -> ToolOutput:
        try:
            attempt = _Attempt.of(arguments.patch)
            changes = await context.workspace.change_all(attempt.edits)
        except (PatchError, WorkspaceError) as error:
            return _failure(error)
        return await finish_edit(attempt.output(context.workspace, changes), changes, context, self._steps)


class _Attempt:
    """A patch as edits of files, with the outcome for each."""

    @classmethod
    def of(cls, text: str) -> _Attempt:
        try:
            return cls(parse_patch(text))
        except PatchError as error:
            raise PatchError(f"The patch cannot be read: {error}.") from error

    def __init__(self, patches: Sequence[FilePatch]) -> None:
        self._pending = [_PendingPatch(patch) for patch in patches]
        self.edits = [pending.edit for pending in self._pending]

    def output(self, workspace: Workspace, changes: Sequence[Change]) -> ToolOutput:
        """Return the report of the changes, or a failure if there are none."""
        done = [
            _Done(pending, change, workspace.display(change.path))
            for pending, change in zip(self._pending, changes, strict=True)
        ]
        if not any(each.has_effect for each in done):
            return ToolOutput.failure(f"The patch leaves all files as they are. {_NOTHING_WAS_CHANGED}")
        count = "1 file" if len(done) == 1 else f"{len(done)} files"
        text = "\n".join([f"Patched {count}:", *(each.line for each in done)])
        details: JsonObject = {"path": done[0].path, "paths": [each.path for each in done]}
        return ToolOutput.text(text, view=_view(done), details=details)


class _PendingPatch:
    """Patch of one file, and what applying it did."""

    def __init__(self, patch: FilePatch) -> None:
        self.patch = patch
        self.outcome: AppliedEdits | None = None

    @property
    def edit(self) -> FileEdit:
        match self.patch.kind:
            case "add":
                return NewFile(self.patch.path, self.patch.text)
            case "delete":
                return RemovedFile(self.patch.path)
            case "update":
                return EditedFile(self.patch.path, self._apply, self.patch.target)

    def _apply(self, file: FileText) -> FileText:
        try:
            self.outcome = apply_hunks(file, self.patch)
        except PatchError as error:
            raise PatchError(f"{self.patch.path}: {error}") from error
        return self.outcome.file


class _Done(Struct, frozen=True):
    """A changed file."""

    pending: _PendingPatch
    change: Change
    path: str

    @property
    def has_effect(self) -> bool:
        return bool(self.pending.patch.target) or self.change.is_removed or self.change.old != self.change.new

    @property
    def line(self) -> str:
        """Line of the report."""
        patch, outcome = self.pending.patch, self.pending.outcome
        if patch.kind == "add":
            return f"A {self.path}"
        if patch.kind == "delete":
            return f"D {self.path}"
        mark = f"R {patch.path} → {self.path}" if patch.target else f"M {self.path}"
        if outcome is None or not outcome.regions:
            return mark
        remarks = "".join(f"; {note}" for note in outcome.notes)
        return f"{mark}: now {described_lines(outcome.regions)}{remarks}"

    @property
    def view(self) -> DiffView:
        return DiffView(self.path, self.change.old, None if self.change.is_removed else self.change.new)

    @property
    def diff(self) -> str:
        target = self.pending.patch.target
        moved = f"rename from {self.pending.patch.path}\nrename to {self.path}\n" if target else ""
        return f"{moved}{unified(self.view)}"


def _view(done: Sequence[_Done]) -> View:
    """Return a change that can be reviewed by hunks, or the diff of several files."""
    if len(done) == 1 and not done[0].pending.patch.target:
        return done[0].view
    return TextView("".join(each.diff for each in done), "diff")


def _failure(error: PatchError | WorkspaceError) -> ToolOutput:
    return ToolOutput.failure(f"{error}\n{_NOTHING_WAS_CHANGED}")
