"""delegate_subagent: a task for a subagent that sees nothing but its text."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta, field
from msgspec.structs import replace

from harness.messages import JsonObject
from harness.ports.tool import Role, SubagentTask, ToolContext, ToolOutput
from tools.typed import Parameters, TypedTool

SAME = Role()
"""Role of a subagent like its caller."""


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
        return task_summary(arguments)

    async def execute(self, arguments: DelegateArguments, context: ToolContext) -> ToolOutput:
        return await delegate(arguments, context)


def task_summary(arguments: JsonObject) -> str:
    """Return the name of a subagent for users: the one that the model chose, or the first line of the task."""
    name, task = arguments.get("name"), arguments.get("task")
    if isinstance(name, str) and name.strip():
        return name.strip()
    return next(iter(task.strip().splitlines()), "") if isinstance(task, str) else ""


async def delegate(
    arguments: DelegateArguments, context: ToolContext, role: Role = SAME, max_turns: int = 0
) -> ToolOutput:
    """Run a subagent with these arguments.

    Args:
        arguments: Arguments of the call.
        context: Context of the call.
        role: Role of the subagent.
        max_turns: Turn limit of the role; 0 for the usual one.
    """
    if context.delegate is None:
        return ToolOutput.failure("No further subagents are allowed here. Do the task yourself.")
    task = SubagentTask(
        arguments.task,
        arguments.name,
        tuple(arguments.tools),
        call_id=context.call_id,
        update=context.update,
        role=role,
    )
    return await context.delegate(replace(task, max_turns=max_turns) if max_turns else task)
