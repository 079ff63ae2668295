"""SubAgentTool: a kind of sub-agent, as a tool of its own."""

from __future__ import annotations

from typing import TYPE_CHECKING

from harness.errors import InvalidArguments
from harness.lazy_dataclass import dataclass
from harness.messages import JsonObject
from harness.ports.tool import Role, SubagentTask, Tool, ToolContext, ToolOutput
from harness.risk import Risk
from harness.views import View


@dataclass(slots=True)
class SubAgentTool:
    """Hands a task to a sub-agent in a role of its own; `max_turns` is how often it may reply.

    `description` tells the model that calls it when to. What the role leaves open the sub-agent has from its caller.
    Permissions it has from its caller in any case: the mode, the grants, the person who is asked, the limits.
    """

    name: str
    description: str
    role: Role
    max_turns: int = 20
    label: str = "Sub-agent"
    mutates: bool = False

    @property
    def parameters(self) -> JsonObject:
        task: JsonObject = {
            "type": "string",
            "description": "Everything it needs to know and what it is to hand back; it sees nothing else.",
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
        """None of its own: each call of the sub-agent is judged by itself."""
        del arguments
        return Risk("none")

    async def preview(self, arguments: JsonObject, context: ToolContext) -> View | ToolOutput | None:
        del arguments, context
        return None

    async def run(self, arguments: JsonObject, context: ToolContext) -> ToolOutput:
        if context.delegate is None:
            return ToolOutput.failure("There may be no further sub-agents here. Do the task yourself.")
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
    _: type[Tool] = SubAgentTool
