"""replace_text, insert_text, delete_text, delete_line and delete_function: edits of a file by text, line or name."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable
from functools import partial
from typing import Annotated, Literal, TypeAlias, TypeVar

from msgspec import Meta, Struct

from harness.errors import WorkspaceError
from harness.ports.tool import ToolContext, ToolOutput
from harness.risk import Risk
from harness.views import DiffView, View
from harness.workspace.changes import Change
from harness.workspace.file_text import FileText, Splice, occurrences
from tools.dialects.cats.window import CatsTool
from tools.editing.matching import find
from tools.editing.nearest import nearest_block
from tools.post_edit import finish_edit
from tools.symbols.outline import outline
from tools.typed import Parameters

MOST_LISTED = 5
SNIPPET_CHARS = 60


_Number: TypeAlias = Annotated[int, Meta(ge=1)]


class FileParameters(Parameters):
    path: Annotated[str, Meta(min_length=1, description="The file.")]


class DeleteFunctionParameters(Parameters):
    file_name: Annotated[str, Meta(min_length=1, description="The file.")]
    function_name: Annotated[str, Meta(min_length=1, description="Name of the function, or Class.method.")]

    @property
    def path(self) -> str:
        return self.file_name


F = TypeVar("F", bound=FileParameters | DeleteFunctionParameters)


class Applied(Struct, frozen=True):
    """A file with an edit."""

    file: FileText
    line: int
    """First line that the edit changed, from 1."""


class EditingTool(CatsTool[F]):
    """A tool that edits one file; `edited` returns the file, or the reason why it cannot be edited."""

    mutates = True

    def risk_of(self, arguments: F) -> Risk:
        return Risk("edit", paths=(arguments.path,), rule_name="edit_file")

    async def preview_of(self, arguments: F, context: ToolContext) -> View | ToolOutput | None:
        attempt = _Attempt(partial(self.edited, arguments))
        try:
            change = await context.workspace.preview_splice(arguments.path, attempt)
        except WorkspaceError as error:
            return ToolOutput.failure(str(error))
        output = attempt.output(context.workspace.display(change.path), change)
        return output if output.is_error else output.view

    async def execute(self, arguments: F, context: ToolContext) -> ToolOutput:
        attempt = _Attempt(partial(self.edited, arguments))
        change = await context.workspace.splice(arguments.path, attempt)
        if isinstance(attempt.outcome, Applied):
            self.window.edited(arguments.path, attempt.outcome.line)
        output = attempt.output(context.workspace.display(change.path), change)
        return await finish_edit(output, [change], context, self.window.steps)

    def edited(self, arguments: F, file: FileText) -> Applied | str:
        raise NotImplementedError


class _Attempt:
    """An edit with its outcome; a file that cannot be edited stays unchanged."""

    def __init__(self, edit: Callable[[FileText], Applied | str]) -> None:
        self._edit = edit
        self.outcome: Applied | str = "The edit was not applied."

    def __call__(self, file: FileText) -> FileText:
        self.outcome = self._edit(file)
        return self.outcome.file if isinstance(self.outcome, Applied) else file

    def output(self, path: str, change: Change) -> ToolOutput:
        if not isinstance(self.outcome, Applied):
            return ToolOutput.failure(f"{path}: {self.outcome}")
        if change.old == change.new:
            return ToolOutput.failure(f"{path}: the edit leaves the file as it is. Nothing was changed.")
        return ToolOutput.text(
            f"Edited {path} from line {self.outcome.line} on.",
            view=DiffView(path, change.old, change.new),
            details={"path": path, "bytes_written": change.size},
        )


class ReplaceTextParameters(FileParameters):
    old_text: Annotated[str, Meta(min_length=1, description="The text to replace, exactly as in the file.")]
    new_text: Annotated[str, Meta(description="The new text.")]
    occurrence: Annotated[_Number | None, Meta(description="Which of several places to replace, from 1.")] = None


class ReplaceTextTool(EditingTool[ReplaceTextParameters]):
    name = "replace_text"
    label = "Replace text"
    text = "Replaces a text in a file that you have read. If it occurs several times, give the occurrence."
    Arguments = ReplaceTextParameters

    def edited(self, arguments: ReplaceTextParameters, file: FileText) -> Applied | str:
        return _replaced(file, arguments.old_text, arguments.new_text, arguments.occurrence)


class DeleteTextParameters(FileParameters):
    text_to_delete: Annotated[str, Meta(min_length=1, description="The text, exactly as in the file.")]
    occurrence: Annotated[_Number | None, Meta(description="Which of several places to delete, from 1.")] = None


class DeleteTextTool(EditingTool[DeleteTextParameters]):
    name = "delete_text"
    label = "Delete text"
    text = "Deletes a text in a file that you have read. If it occurs several times, give the occurrence."
    Arguments = DeleteTextParameters

    def edited(self, arguments: DeleteTextParameters, file: FileText) -> Applied | str:
        return _replaced(file, arguments.text_to_delete, "", arguments.occurrence)


class InsertTextParameters(FileParameters):
    line_number: Annotated[int, Meta(ge=1, description="Line, from 1.")]
    text: Annotated[str, Meta(description="Lines to insert.")]
    position: Annotated[
        Literal["before_line", "after_line", "at_end"], Meta(description="Where, in relation to the line.")
    ] = "after_line"


class InsertTextTool(EditingTool[InsertTextParameters]):
    name = "insert_text"
    label = "Insert text"
    text = "Inserts lines before or after a line of a file that you have read, or at its end."
    Arguments = InsertTextParameters

    def edited(self, arguments: InsertTextParameters, file: FileText) -> Applied | str:
        starts = _line_starts(file.text)
        number, count = arguments.line_number, len(starts)
        # One past the last line is the end of the file.
        if arguments.position != "at_end" and number > count + 1:
            return f"line {number} is past the end; the file has {count} lines."
        index = count if arguments.position == "at_end" else number - (arguments.position == "before_line")
        place = starts[index] if index < count else len(file.text)
        is_open = place == len(file.text) and bool(file.text) and not file.text.endswith("\n")
        text = ("\n" if is_open else "") + arguments.text + ("" if arguments.text.endswith("\n") else "\n")
        return Applied(file.spliced([Splice(place, place, text)]), min(index, count) + 1)


class DeleteLineParameters(FileParameters):
    start_line: Annotated[int, Meta(ge=1, description="First line, from 1.")]
    end_line: Annotated[int, Meta(ge=1, description="Last line, inclusive.")]


class DeleteLineTool(EditingTool[DeleteLineParameters]):
    name = "delete_line"
    label = "Delete lines"
    text = "Deletes lines of a file that you have read."
    Arguments = DeleteLineParameters

    def edited(self, arguments: DeleteLineParameters, file: FileText) -> Applied | str:
        starts = _line_starts(file.text)
        if arguments.end_line < arguments.start_line:
            return "end_line is before start_line."
        if arguments.start_line > len(starts):
            return f"line {arguments.start_line} is past the end; the file has {len(starts)} lines."
        end = starts[arguments.end_line] if arguments.end_line < len(starts) else len(file.text)
        return Applied(file.spliced([Splice(starts[arguments.start_line - 1], end, "")]), arguments.start_line)


class DeleteFunctionTool(EditingTool[DeleteFunctionParameters]):
    name = "delete_function"
    label = "Delete function"
    text = "Deletes a function from a file that you have read."
    Arguments = DeleteFunctionParameters

    def edited(self, arguments: DeleteFunctionParameters, file: FileText) -> Applied | str:
        wanted = arguments.function_name
        kinds = ("function", "method")
        found = [each for each in outline(arguments.file_name, file.text) if each.kind in kinds]
        named = [each for each in found if wanted in (each.name, each.qualified_name)]
        if len(named) != 1:
            names = ", ".join(f"{each.qualified_name} (line {each.line})" for each in named or found[:20])
            problem = f"several functions are called {wanted}" if named else f"there is no function {wanted}"
            return f"{problem}; there are {names or 'none'}."
        lines, starts = file.text.split("\n"), _line_starts(file.text)
        first, last = named[0].line, named[0].end_line
        # Decorators and attributes belong to it.
        while first > 1 and lines[first - 2].lstrip().startswith(("@", "#[")):
            first -= 1
        end = starts[last] if last < len(starts) else len(file.text)
        return Applied(file.spliced([Splice(starts[first - 1], end, "")]), first)


def _replaced(file: FileText, old: str, new: str, occurrence: int | None) -> Applied | str:
    new = file.normalized(new)
    hits = find(file, old, new).hits
    if not hits:
        near = nearest_block(file.text, old)
        hint = f" The most similar place is line {near.first}: {near.reason}." if near else ""
        return f"the text does not occur in the file.{hint} Nothing was changed."
    if occurrence is None and len(hits) > 1:
        lines = file.text.split("\n")
        numbers = [_line_at(file.text, hit.start) for hit in hits]
        listed = "\n".join(f"{number}: {lines[number - 1].strip()[:SNIPPET_CHARS]}" for number in numbers[:MOST_LISTED])
        return f"the text occurs {len(hits)} times; give the occurrence, from 1:\n{listed}"
    if occurrence is not None and occurrence > len(hits):
        return f"there is no occurrence {occurrence}; the text occurs {len(hits)} times."
    hit = hits[(occurrence or 1) - 1]
    return Applied(file.spliced([Splice(hit.start, hit.end, hit.new)]), _line_at(file.text, hit.start))


def _line_starts(text: str) -> list[int]:
    starts = [0, *(at + 1 for at in occurrences(text, "\n"))]
    return starts[:-1] if text.endswith("\n") or not text else starts


def _line_at(text: str, place: int) -> int:
    return bisect_right(_line_starts(text), place)
