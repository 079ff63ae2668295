"""Roles of the subagents that files define: their instructions, with the skills they name, and their models."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from msgspec import Struct

from cinch_tui.assembly.folder import Folder
from harness.errors import ConfigError
from harness.ports.provider import Model
from harness.ports.tool import Role, Tool
from harness.thinking_level import ThinkingLevel
from tools.builtin import LazyTool

if TYPE_CHECKING:
    from cinch_tui.agent_hooks import AgentHooks
    from cinch_tui.config.options import Options
    from extensions.subagents import Subagent
    from harness.agent.agent import Agent
    from harness.ports.hooks import Hooks

DELEGATE = "delegate_subagent"


class SubagentRoles(Struct):
    """Roles of the subagents of an agent, each with one connection to its model."""

    folder: Folder
    """The folder that they come from."""
    agent: Agent | None = None
    """The agent that delegates; set once it exists."""
    connect: Callable[[str, ThinkingLevel], Model] | None = None
    """Connects a model for the agent; may raise a ConfigError."""
    hooks: AgentHooks | None = None
    """Hooks of the agent; set once it exists."""
    options: Options | None = None
    """Options of the start; set once the agent exists."""
    _models: dict[tuple[str, str], Model | None] = {}

    def with_subagents(self, tools: Sequence[Tool]) -> list[Tool]:
        """Return the tools, with the one that delegates for the subagents of the folder."""
        if not any(tool.name == DELEGATE for tool in tools):
            return list(tools)
        delegate: Tool = LazyTool(DELEGATE)
        if self.folder.subagents.subagents:
            # Imported here because many users have no subagents in files.
            from extensions.subagent_tool import AgentTool

            delegate = AgentTool(self.folder.subagents.subagents, self.role_of)
        return [delegate if tool.name == DELEGATE else tool for tool in tools]

    async def role_of(self, subagent: Subagent) -> Role:
        """Return the role of a subagent.

        Raises:
            NotAFile, OSError, UnicodeDecodeError: its file, or that of a skill, cannot be read.
        """
        return Role(
            model=await self._model(subagent),
            system_prompt=await asyncio.to_thread(self._prompt, subagent),
            allowed_tools=subagent.tools,
            denied_tools=subagent.denied_tools,
            is_read_only=subagent.is_read_only,
            asks=subagent.asks,
            name=subagent.name,
            hooks=await self._hooks(subagent),
        )

    async def _hooks(self, subagent: Subagent) -> tuple[Hooks, ...]:
        agent, hooks, options, root = self.agent, self.hooks, self.options, subagent.root
        if not subagent.hooks or hooks is None or agent is None or options is None:
            return ()
        from cinch_tui.trust.prompt import may_run  # few subagents have hooks

        is_project = root.level == "project"
        if is_project and not await asyncio.to_thread(may_run, options, agent.workspace.root, subagent.path):
            agent.notify(f"{subagent.path} has changed since you trusted it; its hooks are not used", level="warning")
            return ()
        plugin_root = str(root.path) if root.plugin else ""
        return hooks.of_run(subagent.hooks, subagent.path, root.level, plugin_root, is_subagent=True)

    def _prompt(self, subagent: Subagent) -> str:
        from extensions.subagents import read_instructions, with_skills

        text = with_skills(read_instructions(subagent.path), subagent.skills, self.folder.skills)
        return self.folder.prompt_of_role(text)

    async def _model(self, subagent: Subagent) -> Model | None:
        """Return the model of a subagent; None if it uses that of the agent, also because its own is not available."""
        agent, connect = self.agent, self.connect
        if not subagent.model or agent is None or connect is None:
            return None
        spec = agent.state.model.spec
        key = subagent.model, spec.provider
        if key not in self._models:
            try:
                self._models[key] = await asyncio.to_thread(self._connected, subagent.model, connect, agent)
            except ConfigError as error:
                self._models[key] = None
                agent.notify(
                    f"The model {subagent.model} of the subagent {subagent.name} is not available; "
                    f"{spec.name} replaces it. {error}",
                    level="warning",
                )
        return self._models[key]

    def _connected(self, name: str, connect: Callable[[str, ThinkingLevel], Model], agent: Agent) -> Model | None:
        from cinch_tui.models.offers import family_model

        spec = agent.state.model.spec
        is_family = name.isalpha()
        wanted = family_model(name, spec.provider) if is_family else name
        if not wanted or wanted == spec.name:
            return None
        model = connect(wanted, spec.thinking)
        # Closed with the agent.
        agent.state.former_models.append(model)
        return model
