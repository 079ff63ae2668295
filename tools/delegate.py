"""delegate_subagent: a task for a subagent that sees nothing but its text."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta, field

from harness.messages import JsonObject
from harness.ports.tool import SubagentTask, ToolContext, ToolOutput
from tools.typed import Parameters, TypedTool


class DelegateArguments(Parameters):
    task: Annotated[
        str,
        Meta(
            min_length=1, description="Everything the subagent needs to know and what to return; it sees nothing else."
        ),
    ]
    name: Annotated[str, Meta(max_length=40, description="A name of one or two words.")] = ""
    tools: Annotated[list[str], Meta(description="Names of the tools it may use; by default, all of yours.")] = field(
        default_factory=list[str]
    )


class DelegateTool(TypedTool[DelegateArguments]):
    """Has no risk itself: each call of the subagent is assessed and approved like a call of its parent."""

    name = "delegate_subagent"
    label = "Subagent"
    risk_level = "none"
    Arguments = DelegateArguments

    def summary(self, arguments: JsonObject) -> str:
        name, task = arguments.get("name"), arguments.get("task")
        if isinstance(name, str) and name.strip():
            return name.strip()
        return next(iter(task.strip().splitlines()), "") if isinstance(task, str) else ""

    async def execute(self, arguments: DelegateArguments, context: ToolContext) -> ToolOutput:
        if context.delegate is None:
            return ToolOutput.failure("No further subagents are allowed here. Do the task yourself.")
        return await context.delegate(
            SubagentTask(
                arguments.task, arguments.name, tuple(arguments.tools), call_id=context.call_id, update=context.update
            )
        )
