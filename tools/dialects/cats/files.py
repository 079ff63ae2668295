"""create_file and overwrite_file: a new file, or the whole content of one that exists."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta

from harness.ports.tool import ToolContext, ToolOutput
from harness.risk import Risk
from harness.views import View
from tools.dialects.cats.window import CatsTool
from tools.typed import Parameters
from tools.write import WriteParameters, WriteTool


class ContentParameters(Parameters):
    path: Annotated[str, Meta(min_length=1, description="The file. Missing folders are made.")]
    content: Annotated[str, Meta(description="The whole content of the file.")]


class _ContentTool(CatsTool[ContentParameters]):
    mutates = True
    Arguments = ContentParameters
    must_exist = False

    def risk_of(self, arguments: ContentParameters) -> Risk:
        return Risk("edit", paths=(arguments.path,), rule_name="write_file")

    async def preview_of(self, arguments: ContentParameters, context: ToolContext) -> View | ToolOutput | None:
        wrong = self._wrong(arguments, context)
        return wrong or await WriteTool().preview_of(_written(arguments), context)

    async def execute(self, arguments: ContentParameters, context: ToolContext) -> ToolOutput:
        wrong = self._wrong(arguments, context)
        return wrong or await WriteTool(self.window.steps).execute(_written(arguments), context)

    def _wrong(self, arguments: ContentParameters, context: ToolContext) -> ToolOutput | None:
        real = context.workspace.resolve(arguments.path)
        if real.exists() == self.must_exist:
            return None
        hint = "Use overwrite_file." if real.exists() else "Use create_file."
        state = "exists already" if real.exists() else "does not exist"
        return ToolOutput.failure(f"{context.workspace.display(real)} {state}. {hint}")


class CreateFileTool(_ContentTool):
    name = "create_file"
    label = "Create file"
    text = "Creates a file that does not exist yet."


class OverwriteFileTool(_ContentTool):
    name = "overwrite_file"
    label = "Overwrite file"
    text = "Replaces the whole content of a file that you have read."
    must_exist = True


def _written(arguments: ContentParameters) -> WriteParameters:
    return WriteParameters(path=arguments.path, content=arguments.content)
