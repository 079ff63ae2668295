"""open, goto, scroll_up, scroll_down and _state: the window on the open file."""

from __future__ import annotations

from typing import Annotated, TypeAlias

from msgspec import Meta

from harness.messages import JsonObject
from harness.ports.tool import ToolContext, ToolOutput
from harness.risk import Risk
from tools.dialects.cats.window import NoParameters, WindowTool
from tools.typed import Parameters

_Number: TypeAlias = Annotated[int, Meta(ge=1)]


class OpenParameters(Parameters):
    path: Annotated[str, Meta(min_length=1, description="The file, relative to the working folder or absolute.")]
    line_number: Annotated[_Number | None, Meta(description="Line to show in the middle of the window.")] = None


class OpenTool(WindowTool[OpenParameters]):
    name = "open"
    label = "Open file"
    text = "Opens a file and shows a window of 1,000 lines of it, with their numbers. Move it with goto and scroll."
    Arguments = OpenParameters

    async def execute(self, arguments: OpenParameters, context: ToolContext) -> ToolOutput:
        file = await context.workspace.read(arguments.path)
        self.window.open(arguments.path)
        total, line = file.text.count("\n") + 1, arguments.line_number
        if line is None:
            return await self.shown(context)
        self.window.center(line, total)
        note = f"Warning: line {line} is past the end; the file has {total} lines." if line > total else ""
        return await self.shown(context, note)


class GotoParameters(Parameters):
    line_number: Annotated[int, Meta(ge=1, description="Line to show in the middle of the window.")]


class GotoTool(WindowTool[GotoParameters]):
    name = "goto"
    label = "Go to line"
    text = "Moves the window of the open file to a line."
    Arguments = GotoParameters

    async def execute(self, arguments: GotoParameters, context: ToolContext) -> ToolOutput:
        if not self.window.path:
            return self.nothing_open()
        total = (await context.workspace.read(self.window.path)).text.count("\n") + 1
        if arguments.line_number > total:
            return ToolOutput.failure(f"Line {arguments.line_number} is past the end; the file has {total} lines.")
        self.window.center(arguments.line_number, total)
        return await self.shown(context)


class _ScrollTool(WindowTool[NoParameters]):
    Arguments = NoParameters
    direction = 1
    edge = ""

    def summary(self, arguments: JsonObject) -> str:
        return self.window.path

    async def execute(self, arguments: NoParameters, context: ToolContext) -> ToolOutput:
        window = self.window
        if not window.path:
            return self.nothing_open()
        total = (await context.workspace.read(window.path)).text.rstrip("\n").count("\n") + 1
        first = max(1, min(window.first + self.direction * window.lines, max(1, total - window.lines + 1)))
        note = f"The window is already at the {self.edge} of the file." if first == window.first else ""
        window.first = first
        return await self.shown(context, note)


class ScrollUpTool(_ScrollTool):
    name = "scroll_up"
    label = "Scroll up"
    text = "Moves the window of the open file up by its height."
    direction = -1
    edge = "beginning"


class ScrollDownTool(_ScrollTool):
    name = "scroll_down"
    label = "Scroll down"
    text = "Moves the window of the open file down by its height."
    edge = "end"


class StateTool(WindowTool[NoParameters]):
    name = "_state"
    label = "State"
    text = "Returns the working folder, the open file, its window and all files that were opened."
    Arguments = NoParameters

    def risk_of(self, arguments: NoParameters) -> Risk:
        return Risk("none")

    async def execute(self, arguments: NoParameters, context: ToolContext) -> ToolOutput:
        window = self.window
        lines = [
            f"working folder: {context.workspace.root}",
            f"open file: {window.path or 'none'}",
            *([f"window: lines {window.first}-{window.first + window.lines - 1}"] if window.path else []),
            f"opened files: {', '.join(window.opened) or 'none'}",
        ]
        return ToolOutput.text("\n".join(lines))
