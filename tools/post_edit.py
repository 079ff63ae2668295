"""Steps after a change of files: formatters, and a check for new errors."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Protocol

from msgspec import Struct
from msgspec.structs import replace

from harness.messages import Text
from harness.ports.tool import ToolContext, ToolOutput
from harness.views import DiffView, TextView, View
from harness.workspace.changes import Change
from harness.workspace.unified_diff import unified
from harness.workspace.workspace import Workspace


class EditNote(Struct, frozen=True):
    """Note on a change, for the model and the user."""

    text: str
    """One or more lines."""
    is_problem: bool = False
    """True for an error, in the file or of a step."""
    excerpt: str = ""
    """Lines of the file for the model alone: users see them in the diff."""


class PostEditStep(Protocol):
    async def __call__(self, changes: list[Change], context: ToolContext) -> Sequence[EditNote]:
        """Run after files have changed, and return notes for the model and the user. Never raises but for cancellation.

        Args:
            changes: The changes; a step that changes a file again replaces its change.
            context: Services of the call.
        """
        ...


async def finish_edit(
    output: ToolOutput, changes: Sequence[Change], context: ToolContext, steps: Sequence[PostEditStep]
) -> ToolOutput:
    """Run the steps after a change, in order, and return its output with their notes.

    Args:
        output: Output of the call that changed the files.
        changes: The changes.
        context: Services of the call.
        steps: The steps.
    """
    real = [change for change in changes if change.old != change.new]
    if output.is_error or not real:
        return output
    # A cancelled step does not undo the change.
    context.on_interrupt(lambda: output)
    for step in steps:
        before = tuple(real)
        notes = await step(real, context)
        for old, new in zip(before, real, strict=True):
            if old.new != new.new:
                output = replace(output, view=_with_text(output.view, old, new, context.workspace))
        if notes:
            output = _with_notes(output, notes)
    return output


def _with_text(view: View | None, before: Change, after: Change, workspace: Workspace) -> View | None:
    """Return the view of a change with the text that a step left."""
    match view:
        case DiffView(new=before.new):
            return replace(view, new=after.new)
        case TextView(language="diff"):
            # Changes of several files.
            further = DiffView(workspace.display(after.path), before.new, after.new)
            return replace(view, text=view.text + unified(further))
        case _:
            return view


def _with_notes(output: ToolOutput, notes: Sequence[EditNote]) -> ToolOutput:
    text = _joined(notes)
    reported = _lines(*(each for note in notes for each in (note.text, note.excerpt)))
    match output.view:
        case DiffView() as view:
            plain = _joined(note for note in notes if not note.is_problem)
            problems = _joined(note for note in notes if note.is_problem)
            view = replace(view, notes=_lines(view.notes, plain), problems=_lines(view.problems, problems))
        case TextView() as view:
            # Changes of several files.
            view = replace(view, text=f"{view.text}\n\n{text}")
        case view:
            pass
    return replace(output, content=(*output.content, Text(f"\n{reported}")), view=view)


def _joined(notes: Iterable[EditNote]) -> str:
    return _lines(*(note.text for note in notes))


def _lines(*texts: str) -> str:
    return "\n".join(filter(None, texts))
