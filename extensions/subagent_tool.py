"""delegate_subagent with the subagents that users define in files."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from difflib import get_close_matches
from typing import Annotated, TypeAlias

from msgspec import Meta
from msgspec.structs import replace

from extensions.subagents import Subagent, subagent_index
from harness.errors import NotAFile
from harness.messages import JsonObject
from harness.ports.tool import Role, ToolContext, ToolOutput
from harness.risk import Risk
from tools.delegate import DelegateArguments, delegate, task_summary
from tools.typed import TypedTool

RoleSource: TypeAlias = Callable[[Subagent], Awaitable[Role]]
"""Function that reads the instructions of a subagent and connects its model.

Raises:
    NotAFile, OSError, UnicodeDecodeError: A file cannot be read.
"""


class AgentArguments(DelegateArguments):
    agent: Annotated[str, Meta(description="An agent from the list; none for a subagent like you.")] = ""


class AgentTool(TypedTool[AgentArguments]):
    """Tool that delegates a task to a subagent, with the role of a file if the model names one.

    Args:
        subagents: Subagents that the model may name.
        role_of: Returns the role of a subagent.
    """

    name = "delegate_subagent"
    label = "Subagent"
    Arguments = AgentArguments

    def __init__(self, subagents: Sequence[Subagent], role_of: RoleSource) -> None:
        self._subagents: Mapping[str, Subagent] = {each.name: each for each in subagents}
        self._role_of = role_of

    @property
    def description(self) -> str:
        index = subagent_index(tuple(self._subagents.values()))
        return (
            f"{super().description}\n\nAgents with their own instructions, for `agent`. Use the one whose description "
            f"fits the task, and the one that the user asks for by its name or as @agent-NAME.\n\n{index}"
        )

    def summary(self, arguments: JsonObject) -> str:
        agent, task = arguments.get("agent"), task_summary(arguments)
        return f"{agent}: {task}" if isinstance(agent, str) and agent and agent != task else task

    def risk_of(self, arguments: AgentArguments) -> Risk:
        # Permission rules name an agent: delegate_subagent(reviewer).
        return Risk("none", subject=arguments.agent)

    async def execute(self, arguments: AgentArguments, context: ToolContext) -> ToolOutput:
        # The subagent without a role, as Claude Code names it.
        if not arguments.agent or (arguments.agent == "general-purpose" and arguments.agent not in self._subagents):
            return await delegate(arguments, context)
        subagent = self._subagents.get(arguments.agent)
        if subagent is None:
            near = get_close_matches(arguments.agent, self._subagents, n=3)
            hint = f"Did you mean {', '.join(near)}?" if near else "Leave `agent` out for a subagent like you."
            return ToolOutput.failure(f"There is no agent {arguments.agent!r}. {hint}")
        try:
            role = await self._role_of(subagent)
        except (NotAFile, OSError, UnicodeDecodeError) as error:
            return ToolOutput.failure(f"The agent {subagent.name} cannot be used: {error}")
        named = replace(arguments, name=arguments.name or subagent.name[-40:])
        return await delegate(named, context, role, subagent.max_turns)
