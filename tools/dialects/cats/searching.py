"""find_file, search_file and search_dir, by the search tools of cinch."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta
from msgspec.structs import replace

from harness.ports.tool import ToolContext, ToolOutput
from harness.risk import PathAccess, Risk
from tools.dialects.cats.window import CatsTool
from tools.find import FindParameters, FindTool
from tools.grep import GrepParameters, GrepTool
from tools.typed import Parameters

MOST_FOUND = 1_000


class FindFileParameters(Parameters):
    file_name: Annotated[str, Meta(min_length=1, description="Name of a file, or a glob with *, ?, ** and [..].")]
    dir: Annotated[str, Meta(description="The folder to look in.")] = "./"


class FindFileTool(CatsTool[FindFileParameters]):
    name = "find_file"
    label = "Find file"
    text = "Finds files by name or glob. Files ignored by git are omitted."
    Arguments = FindFileParameters

    def risk_of(self, arguments: FindFileParameters) -> Risk:
        return Risk("read", accesses=(PathAccess(arguments.dir, "list"),), rule_name="find_files")

    async def execute(self, arguments: FindFileParameters, context: ToolContext) -> ToolOutput:
        return await FindTool().execute(
            FindParameters(pattern=arguments.file_name, path=arguments.dir, limit=MOST_FOUND), context
        )


class SearchFileParameters(Parameters):
    search_term: Annotated[str, Meta(min_length=1, description="The text to look for, literally.")]
    file: Annotated[str | None, Meta(description="The file; by default, the open one.")] = None


class SearchFileTool(CatsTool[SearchFileParameters]):
    name = "search_file"
    label = "Search file"
    text = "Searches for a text in a file, and shows the lines that contain it."
    Arguments = SearchFileParameters

    def risk_of(self, arguments: SearchFileParameters) -> Risk:
        path = arguments.file or self.window.path
        return replace(_risk(path), access="exclusive")

    async def execute(self, arguments: SearchFileParameters, context: ToolContext) -> ToolOutput:
        path = arguments.file or self.window.path
        if not path:
            return ToolOutput.failure("No file is open. Give the file, or use open first.")
        return await GrepTool().execute(_literal(arguments.search_term, path), context)


class SearchDirParameters(Parameters):
    search_term: Annotated[str, Meta(min_length=1, description="The text to look for, literally.")]
    dir: Annotated[str, Meta(description="The folder to search.")] = "./"


class SearchDirTool(CatsTool[SearchDirParameters]):
    name = "search_dir"
    label = "Search folder"
    text = "Searches for a text in all files of a folder, and shows the lines that contain it."
    Arguments = SearchDirParameters

    def risk_of(self, arguments: SearchDirParameters) -> Risk:
        return _risk(arguments.dir)

    async def execute(self, arguments: SearchDirParameters, context: ToolContext) -> ToolOutput:
        return await GrepTool().execute(_literal(arguments.search_term, arguments.dir), context)


def _risk(path: str) -> Risk:
    accesses = (PathAccess(path, "search", skips_secrets=True),) if path else ()
    return Risk("read", accesses=accesses, rule_name="grep")


def _literal(text: str, path: str) -> GrepParameters:
    return GrepParameters(pattern=text, path=path, literal=True, limit=MOST_FOUND)
