"""find_files: files that match a glob pattern, most recently changed first."""

from __future__ import annotations

import asyncio
import re
from pathlib import Path, PurePath
from typing import Annotated

from msgspec import Meta

from harness.ports.tool import ToolContext, ToolOutput
from harness.risk import PathAccess, Risk
from harness.terminal_text import strip_escapes
from harness.views import ListingView
from harness.workspace.disk import is_folder
from tools.paging import page_note
from tools.ripgrep import Ripgrep, RipgrepMissing
from tools.ripgrep_output import grouped_by_folder
from tools.typed import Parameters, TypedTool

_BRACES = re.compile(r"\{([^{}]*)\}")
# Each brace multiplies the number of patterns.
_MOST_BRACES = 5


class FindParameters(Parameters):
    pattern: Annotated[
        str,
        Meta(min_length=1, description="A glob: `*.py` in any folder, `src/**/*.ts`, `**/test_*.{js,ts}`."),
    ]
    path: Annotated[str, Meta(description="The folder to look in.")] = "."
    offset: Annotated[int, Meta(ge=0, description="Files to skip.")] = 0
    limit: Annotated[int, Meta(ge=1, le=5000, description="Most files to show.")] = 100


class FindTool(TypedTool[FindParameters]):
    name = "find_files"
    label = "Find files"
    Arguments = FindParameters

    def risk_of(self, arguments: FindParameters) -> Risk:
        return Risk("read", accesses=(PathAccess(arguments.path, "list"),))

    async def execute(self, arguments: FindParameters, context: ToolContext) -> ToolOutput:
        folder = context.workspace.resolve(arguments.path)
        shown = context.workspace.display(folder)
        if not is_folder(folder):
            await context.workspace.read_bytes(folder, limit=1)
            return ToolOutput.failure(f"{shown} is a file; give a folder as path.")
        search = Ripgrep(["--files", "--null"], folder)
        try:
            names = await search.names()
        except RipgrepMissing as error:
            return ToolOutput.failure(str(error))
        matching = _matching(names, arguments.pattern, folder)
        newest = await asyncio.to_thread(sorted, matching, key=lambda name: (-_changed(folder / name), name))
        page = newest[arguments.offset : arguments.offset + arguments.limit]
        found = [context.workspace.display(folder / name) for name in page]
        return _listed(arguments, shown, found, search, total=len(newest))


def _listed(arguments: FindParameters, where: str, found: list[str], search: Ripgrep, *, total: int) -> ToolOutput:
    view = ListingView(f"{arguments.pattern} in {where}", tuple(strip_escapes(name) for name in found), total)
    if total == 0:
        text = f"No file in {where} matches {arguments.pattern}. Files that git ignores are not searched."
        return ToolOutput.text(text if not search.timed_out else "The search took too long; give a path.", view=view)
    parts = [page_note(arguments.offset, len(found), total, f"{total} files" if total > 1 else "1 file")]
    if search.timed_out:
        parts.append("there may be more: the search took too long")
    return ToolOutput.text(
        "\n".join([*grouped_by_folder(found), f"[{' · '.join(parts)}]"]), view=view, details={"total": total}
    )


def _matching(names: list[str], pattern: str, folder: Path) -> list[str]:
    if PurePath(pattern).is_absolute():
        pattern = pattern.removeprefix(f"{folder}/")
    expressions = [glob_expression(each) for each in _alternatives(pattern.removeprefix("./"))]
    matches = re.compile("|".join(expressions)).fullmatch
    return [name for name in names if matches(name)]


def _changed(path: Path) -> float:
    try:
        return path.lstat().st_mtime
    except OSError:
        return 0.0


def _alternatives(pattern: str) -> list[str]:
    """Expand `{a,b}`."""
    brace = _BRACES.search(pattern)
    if brace is None or pattern.count("{") > _MOST_BRACES:
        return [pattern]
    before, after = pattern[: brace.start()], pattern[brace.end() :]
    choices = pattern[brace.start(1) : brace.end(1)].split(",")
    return [each for choice in choices for each in _alternatives(before + choice + after)]


def glob_expression(pattern: str) -> str:
    """Return a regular expression for a glob; one without a slash matches names in any folder."""
    if "/" not in pattern:
        pattern = f"**/{pattern}"
    expression = ""
    at = 0
    while at < len(pattern):
        piece, taken = _translated(pattern, at)
        expression += piece
        at += taken
    return expression


def _translated(pattern: str, at: int) -> tuple[str, int]:
    begins_folder = at == 0 or pattern[at - 1] == "/"
    if begins_folder and pattern.startswith("**/", at):
        return "(?:[^/]+/)*", 3
    if begins_folder and pattern[at:] == "**":
        return ".*", 2
    match pattern[at]:
        case "*":
            return "[^/]*", len(pattern) - at - len(pattern[at:].lstrip("*"))
        case "?":
            return "[^/]", 1
        case "[" if (end := pattern.find("]", at + 2)) > 0:
            inside = pattern[at + 1 : end].replace("\\", "\\\\").replace("[", "\\[")
            return f"[^/{inside[1:]}]" if inside[0] in "!^" else f"[{inside}]", end - at + 1
        case character:
            return re.escape(character), 1
