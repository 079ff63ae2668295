"""grep: searches the content of files with ripgrep."""

from __future__ import annotations

import asyncio
from contextlib import aclosing
from pathlib import Path
from typing import Annotated, Literal

from msgspec import Meta, Struct

from harness.approval.path_lists import is_secret, secret_globs
from harness.ports.tool import ToolContext, ToolOutput
from harness.risk import PathAccess, Risk
from harness.terminal_text import strip_escapes
from harness.views import ListingView
from harness.workspace.disk import is_folder
from harness.workspace.workspace import Workspace
from tools.paging import page_note
from tools.ripgrep import Ripgrep, RipgrepMissing
from tools.ripgrep_output import FileMatches, Matches, grouped_by_folder
from tools.typed import Parameters, TypedTool

# A search with more output than this is too broad to be useful; counting further only takes time.
_MOST_OUTPUT = 32 * 1024 * 1024
_MOST_CHARACTERS = 50_000
_UNSAFE_LITERAL = set("()[]{}?*+|^$\\.")


class GrepParameters(Parameters):
    pattern: Annotated[str, Meta(min_length=1, description="A regular expression; plain text if literal is set.")]
    path: Annotated[str, Meta(description="A file or folder to search.")] = "."
    glob: Annotated[str, Meta(description="Only files that match.")] = ""
    type: Annotated[str, Meta(description="Only files of a type ripgrep knows.")] = ""
    output_mode: Annotated[
        Literal["content", "files_with_matches", "count"],
        Meta(
            description="Form of the result.",
            extra_json_schema={"type": "string"},
        ),
    ] = "content"
    ignore_case: bool = False
    literal: Annotated[bool, Meta(description="Take the pattern as plain text.")] = False
    context: Annotated[int, Meta(ge=0, le=50, description="Lines to show around each match.")] = 0
    multiline: Annotated[bool, Meta(description="Let the pattern reach over line ends.")] = False
    offset: Annotated[int, Meta(ge=0, description="Matching lines, or files, to skip.")] = 0
    limit: Annotated[int, Meta(ge=1, le=5000, description="Most to show; the total is always reported.")] = 250


class GrepTool(TypedTool[GrepParameters]):
    name = "grep"
    label = "Search"
    Arguments = GrepParameters

    def risk_of(self, arguments: GrepParameters) -> Risk:
        return Risk("read", accesses=(PathAccess(arguments.path, "search", skips_secrets=True),))

    async def execute(self, arguments: GrepParameters, context: ToolContext) -> ToolOutput:
        place = await _place(context.workspace, arguments.path)
        search = Ripgrep([*_without_secrets(place), *_options(arguments, place.target)], place.cwd)
        keeps_lines = arguments.output_mode == "content"
        matches = Matches(arguments.limit, keeps_lines=keeps_lines, offset=arguments.offset)
        try:
            await _collect(search, matches)
        except RipgrepMissing as error:
            return ToolOutput.failure(str(error))
        if search.error and not matches.total:
            return ToolOutput.failure(_error_message(search.error, arguments))
        return _output(arguments, place, search, matches, room=context.output_limit(_MOST_CHARACTERS))


class _Place(Struct, frozen=True):
    """Working directory and target of ripgrep, and the path as it is displayed."""

    workspace: Workspace
    cwd: Path
    target: str
    shown: str

    def display(self, name: str) -> str:
        return self.workspace.display(self.cwd / name.removeprefix("./"))


async def _place(workspace: Workspace, path: str) -> _Place:
    real = workspace.resolve(path)
    shown = workspace.display(real)
    if is_folder(real):
        return _Place(workspace, real, "./", shown)
    # Reading reports a missing file best, and a pipe on which ripgrep would block.
    await workspace.read_bytes(real, limit=1)
    return _Place(workspace, real.parent, f"./{real.name}", shown)


def _without_secrets(place: _Place) -> list[str]:
    """Return options that leave out secrets, unless the path itself names one, which the user has approved."""
    return [] if is_secret(place.shown) else [f"--iglob=!{glob}" for glob in secret_globs()]


def _options(arguments: GrepParameters, target: str) -> list[str]:
    options = ["--json"] if arguments.output_mode == "content" else ["--count", "--null", "--with-filename"]
    options += ["--engine=auto"] if not arguments.literal else ["--fixed-strings"]
    if arguments.ignore_case:
        options.append("--ignore-case")
    if arguments.multiline:
        options += ["--multiline", "--multiline-dotall"]
    if arguments.context and arguments.output_mode == "content":
        options.append(f"--context={arguments.context}")
    if arguments.glob:
        options.append(f"--glob={arguments.glob}")
    if arguments.type:
        options.append(f"--type={arguments.type}")
    return [*options, f"--regexp={arguments.pattern}", "--", target]


async def _collect(search: Ripgrep, matches: Matches) -> None:
    size = 0
    async with aclosing(search.chunks()) as chunks:
        async for chunk in chunks:
            size += len(chunk)
            matches.feed(chunk)
            if size > _MOST_OUTPUT:
                matches.is_cut = True
                break
    await asyncio.to_thread(matches.finish)


def _output(arguments: GrepParameters, place: _Place, search: Ripgrep, matches: Matches, *, room: int) -> ToolOutput:
    title = f"{arguments.pattern} in {place.shown}"
    if not matches.total:
        hint = " The search took too long; narrow it with path, glob or type." if search.timed_out else ""
        hint += " Files with secrets are only searched if path names one." if is_secret(arguments.glob) else ""
        nothing = f"Nothing in {place.shown} matches {arguments.pattern!r}.{hint}"
        return ToolOutput.text(
            nothing, view=ListingView(strip_escapes(title), (), 0), details={"matches": 0, "files": 0}
        )
    lines, shown = _lines(arguments, place, matches.files, room)
    entries = tuple(strip_escapes(entry) for entry in _entries(arguments, place, matches.files))
    total = matches.total if arguments.output_mode == "content" else matches.file_count
    footer = _footer(arguments, search, matches, shown)
    return ToolOutput.text(
        "\n".join([*lines, f"[{footer}]"]),
        view=ListingView(strip_escapes(title), entries, total),
        details={"matches": matches.total, "files": matches.file_count},
    )


def _lines(arguments: GrepParameters, place: _Place, files: list[FileMatches], room: int) -> tuple[list[str], int]:
    """Return the lines for the model that fit, and the number of matching lines or files in them."""
    lines: list[str] = []
    shown = size = 0
    for file in files:
        name = place.display(file.name)
        block = [name if arguments.output_mode == "files_with_matches" else f"{name}: {file.count}"]
        if arguments.output_mode == "content":
            block = [name, *(f"{line.number}{':' if line.is_match else '-'} {line.text}" for line in file.lines)]
        size += sum(len(line) + 1 for line in block)
        if size > room and lines:
            break
        lines += block
        shown += sum(line.is_match for line in file.lines) if arguments.output_mode == "content" else 1
    return lines if arguments.output_mode == "content" else grouped_by_folder(lines), shown


def _entries(arguments: GrepParameters, place: _Place, files: list[FileMatches]) -> list[str]:
    match arguments.output_mode:
        case "content":
            return [
                f"{place.display(file.name)}:{line.number}: {line.text}"
                for file in files
                for line in file.lines
                if line.is_match
            ]
        case "count":
            return [f"{place.display(file.name)}: {file.count}" for file in files]
        case "files_with_matches":
            return [place.display(file.name) for file in files]


def _footer(arguments: GrepParameters, search: Ripgrep, matches: Matches, shown: int) -> str:
    is_partial = matches.is_cut or search.timed_out
    counted = f"{'more than ' if is_partial else ''}{matches.total} matching lines in {matches.file_count} files"
    total = matches.total if arguments.output_mode == "content" else matches.file_count
    parts = [page_note(arguments.offset, shown, total, counted)]
    if matches.is_cut:
        parts.append("too many to find all; narrow the search")
    if search.timed_out:
        parts.append("the search took too long and was stopped")
    return " · ".join(parts)


def _error_message(error: str, arguments: GrepParameters) -> str:
    text = error.removeprefix("rg: ")
    if "unrecognized file type" in text:
        return f"ripgrep does not know the type {arguments.type!r}. Use glob, such as `*.{arguments.type}`, instead."
    hint = ""
    if not arguments.literal and _UNSAFE_LITERAL.intersection(arguments.pattern):
        hint = "\nTo search for plain text, set literal=true; otherwise escape the special characters."
    return f"ripgrep rejected the search:\n{text}{hint}"
