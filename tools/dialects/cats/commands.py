"""run_command, count_tokens and submit."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta
from msgspec.structs import replace

from harness.context.tokens import estimate_text
from harness.ports.tool import ToolContext, ToolOutput
from harness.risk import Risk
from harness.views import View
from tools.bash import BashArguments, BashTool
from tools.dialects.cats.window import CatsTool, NoParameters, Window
from tools.typed import Parameters


class RunCommandParameters(Parameters):
    command: Annotated[str, Meta(min_length=1, description="The command, in bash syntax.")]


class RunCommandTool(CatsTool[RunCommandParameters]):
    """run_command, by the tool `bash`."""

    name = "run_command"
    label = "Run command"
    text = "Runs a shell command in the working folder and returns its output. It is stopped after 120 seconds."
    mutates = "by_call"
    Arguments = RunCommandParameters

    def __init__(self, window: Window, bash: BashTool) -> None:
        super().__init__(window)
        self._bash = bash

    def risk_of(self, arguments: RunCommandParameters) -> Risk:
        return replace(self._bash.risk_of(_bash(arguments)), rule_name=self._bash.name)

    async def preview_of(self, arguments: RunCommandParameters, context: ToolContext) -> View | ToolOutput | None:
        return await self._bash.preview_of(_bash(arguments), context)

    async def execute(self, arguments: RunCommandParameters, context: ToolContext) -> ToolOutput:
        return await self._bash.execute(_bash(arguments), context)


def _bash(arguments: RunCommandParameters) -> BashArguments:
    return BashArguments(command=arguments.command)


class CountTokensParameters(Parameters):
    file_path: Annotated[str | None, Meta(description="The file to count.")] = None
    content: Annotated[str | None, Meta(description="The text to count, if no file is given.")] = None

    def __post_init__(self) -> None:
        if (self.file_path is None) == (self.content is None):
            raise ValueError("give file_path or content")


class CountTokensTool(CatsTool[CountTokensParameters]):
    name = "count_tokens"
    label = "Count tokens"
    text = "Estimates the tokens of a file or a text."
    Arguments = CountTokensParameters

    def risk_of(self, arguments: CountTokensParameters) -> Risk:
        path = arguments.file_path
        return Risk("read", paths=(path,), rule_name="read_file") if path else Risk("none")

    async def execute(self, arguments: CountTokensParameters, context: ToolContext) -> ToolOutput:
        text = arguments.content
        if text is None:
            text = (await context.workspace.read(arguments.file_path or "")).text
        return ToolOutput.text(f"About {estimate_text(text):,} tokens.")


class SubmitTool(CatsTool[NoParameters]):
    name = "submit"
    label = "Submit"
    text = "Ends the task. Call it alone, once everything is done."
    Arguments = NoParameters

    def risk_of(self, arguments: NoParameters) -> Risk:
        return Risk("none")

    async def execute(self, arguments: NoParameters, context: ToolContext) -> ToolOutput:
        return replace(ToolOutput.text("The task is submitted."), terminate=True)
