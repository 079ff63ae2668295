"""SubagentTool: a subagent with a fixed role, as a tool."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct

from harness.errors import InvalidArguments
from harness.messages import JsonObject
from harness.ports.tool import Role, SubagentTask, Tool, ToolContext, ToolOutput
from harness.risk import Risk
from harness.views import View


class SubagentTool(Struct):
    """Tool that delegates a task to a subagent with its own role.

    Whatever the role leaves open is inherited from the caller, and so are all permissions: mode, rules, user, limits.
    """

    name: str
    """Name the model calls it by."""
    description: str
    """Description for the calling model."""
    role: Role
    """Model, system prompt and tools of the subagent."""
    max_turns: int = 20
    """Maximum number of turns."""
    label: str = "Subagent"
    """Name for users."""
    mutates: bool = False
    """True to hide the tool in plan mode."""

    @property
    def parameters(self) -> JsonObject:
        task: JsonObject = {
            "type": "string",
            "description": "Everything the subagent needs to know, and what to report back; it sees nothing else.",
        }
        return {"type": "object", "properties": {"task": task}, "required": ["task"], "additionalProperties": False}

    def validate(self, arguments: JsonObject) -> JsonObject:
        task = arguments.get("task")
        if not isinstance(task, str) or not task.strip() or len(arguments) > 1:
            raise InvalidArguments(f'{self.name} takes one argument, "task": a text that is not empty.')
        return arguments

    def summary(self, arguments: JsonObject) -> str:
        task = arguments.get("task")
        return next(iter(task.strip().splitlines()), "") if isinstance(task, str) else ""

    def risk(self, arguments: JsonObject) -> Risk:
        """Return no risk, because each call of the subagent is assessed separately."""
        return Risk("none")

    async def preview(self, arguments: JsonObject, context: ToolContext) -> View | ToolOutput | None:
        return None

    async def run(self, arguments: JsonObject, context: ToolContext) -> ToolOutput:
        if context.delegate is None:
            return ToolOutput.failure("No further subagents are allowed here. Do the task yourself.")
        return await context.delegate(
            SubagentTask(
                str(arguments["task"]),
                self.name,
                max_turns=self.max_turns,
                call_id=context.call_id,
                update=context.update,
                role=self.role,
            )
        )


if TYPE_CHECKING:
    _: type[Tool] = SubagentTool
