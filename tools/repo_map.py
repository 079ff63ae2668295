"""repo_map: the definitions that a project refers to most."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from msgspec import Meta

from harness.context.tokens import CHARS_PER_TOKEN
from harness.errors import NotAFile
from harness.ports.tool import ToolContext, ToolOutput
from harness.risk import PathAccess, Risk
from harness.terminal_text import strip_escapes
from harness.views import ListingView
from harness.workspace.disk import is_folder
from tools.ripgrep import RipgrepMissing
from tools.symbols.client import map_repository
from tools.symbols.repository_map import MapQuery
from tools.typed import Parameters, TypedTool


class MapParameters(Parameters):
    path: Annotated[str, Meta(description="The folder.")] = "."
    focus: Annotated[tuple[str, ...], Meta(max_length=50, description="Files and names that matter most now.")] = ()
    max_tokens: Annotated[int, Meta(ge=100, le=20_000, description="Maximum length.")] = 1_500


class MapTool(TypedTool[MapParameters]):
    name = "repo_map"
    label = "Repository map"
    deferred = True
    Arguments = MapParameters

    def __init__(self, cache: Path | None = None) -> None:
        """Create the tool.

        Args:
            cache: Folder of the symbol indexes; None to read all files each time.
        """
        self._cache = cache

    def risk_of(self, arguments: MapParameters) -> Risk:
        return Risk("read", accesses=(PathAccess(arguments.path, "search", skips_secrets=True),))

    async def execute(self, arguments: MapParameters, context: ToolContext) -> ToolOutput:
        folder = context.workspace.resolve(arguments.path)
        shown = context.workspace.display(folder)
        if not is_folder(folder):
            await context.workspace.read_bytes(folder, limit=1)
            raise NotAFile(f"{shown} is a file; give a folder as path.")
        characters = context.output_limit(int(arguments.max_tokens * CHARS_PER_TOKEN))
        focus = tuple(each.removeprefix("./") for each in arguments.focus)
        try:
            # Without a cache, a map would stay a draft.
            query = MapQuery(focus, characters, may_be_draft=self._cache is not None)
            found = await map_repository(context.workspace, arguments.path, query, self._cache)
        except RipgrepMissing as error:
            return ToolOutput.failure(str(error))
        lines = [line for file in found.files for line in (file.path, *(f"  {each}" for each in file.lines))]
        view = ListingView(f"map of {shown}", tuple(map(strip_escapes, lines)), len(lines))
        if not lines:
            return ToolOutput.text(f"No source files with definitions were found in {shown}.", view=view)
        footer = f"{len(found.files)} of {found.indexed} source files; pass path, focus or max_tokens to see others"
        if found.is_draft:
            footer += "; a draft: files are still being parsed, so the choice will be better in some seconds"
        details = {"files": len(found.files), "indexed": found.indexed, "is_draft": found.is_draft}
        return ToolOutput.text("\n".join([*lines, f"[{footer}]"]), view=view, details=dict(details))
