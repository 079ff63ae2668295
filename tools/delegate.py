"""delegate_sub_agent: a task for another agent that starts with nothing but its text."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pydantic import Field

from harness.messages import JsonObject
from harness.ports.tool import SubagentTask, Tool, ToolContext, ToolOutput
from harness.risk import Risk
from tools.typed import Parameters, TypedTool


class DelegateArguments(Parameters):
    task: str = Field(
        min_length=1, description="Everything it needs to know and what it is to hand back; it sees nothing else."
    )
    name: str = Field(default="", max_length=40, description="A word or two that tell it from others.")
    tools: list[str] = Field(
        default_factory=list[str], description="Names of the tools it may use; without it, all of yours."
    )


class DelegateTool(TypedTool[DelegateArguments]):
    """Has no risk of its own: each call of the sub-agent is judged, and asked about, as one of its caller's."""

    name = "delegate_sub_agent"
    label = "Sub-agent"
    Arguments = DelegateArguments

    def summary(self, arguments: JsonObject) -> str:
        name, task = arguments.get("name"), arguments.get("task")
        if isinstance(name, str) and name.strip():
            return name.strip()
        return next(iter(task.strip().splitlines()), "") if isinstance(task, str) else ""

    def risk_of(self, arguments: DelegateArguments) -> Risk:
        del arguments
        return Risk("none")

    async def execute(self, arguments: DelegateArguments, context: ToolContext) -> ToolOutput:
        if context.delegate is None:
            return ToolOutput.failure("There may be no further sub-agents here. Do the task yourself.")
        return await context.delegate(
            SubagentTask(
                arguments.task,
                arguments.name,
                tuple(arguments.tools),
                call_id=context.call_id,
                update=context.update,
            )
        )


if TYPE_CHECKING:
    _: type[Tool] = DelegateTool
