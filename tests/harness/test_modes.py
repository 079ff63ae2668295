from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from harness.approval.modes import EXECUTE, MODES, PLAN, tools_of
from harness.messages import JsonObject, JsonValue
from harness.ports.tool import Tool, ToolContext, ToolOutput
from harness.risk import Risk


@dataclass
class NamedTool:
    name: str
    mutates: bool = False
    label: str = ""
    description: str = ""
    parameters: JsonObject = field(default_factory=dict[str, JsonValue])

    def validate(self, arguments: JsonObject) -> JsonObject:
        return arguments

    def summary(self, arguments: JsonObject) -> str:
        return str(arguments)

    def risk(self, arguments: JsonObject) -> Risk:
        return Risk("read", str(arguments))

    async def preview(self, arguments: JsonObject, context: ToolContext) -> None:
        del arguments, context

    async def run(self, arguments: JsonObject, context: ToolContext) -> ToolOutput:
        return ToolOutput.text(f"{arguments} {context}")


if TYPE_CHECKING:
    _: type[Tool] = NamedTool

READ, BASH, SUBMIT = NamedTool("read_file"), NamedTool("bash", mutates=True), NamedTool("submit_plan")


def test_plan_mode_allows_only_reading_tools_and_the_plan_tool() -> None:
    assert tools_of(PLAN, [READ, BASH, SUBMIT]) == (READ, SUBMIT)


def test_execute_mode_allows_all_tools_but_the_plan_tool() -> None:
    assert tools_of(EXECUTE, [READ, BASH, SUBMIT]) == (READ, BASH)


def test_modes_are_found_by_name() -> None:
    assert MODES == {"execute": EXECUTE, "plan": PLAN}
