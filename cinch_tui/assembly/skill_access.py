"""Access of an agent to skills: the tool that reads them, their folders, permission rules and hooks."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct

from cinch_tui.assembly.folder import Folder
from cinch_tui.config.options import Options
from cinch_tui.config.settings import Settings
from cinch_tui.permissions import is_enabled
from harness.approval.store import RuleStore
from harness.ports.tool import Tool, ToolContext
from harness.workspace.workspace import Workspace

if TYPE_CHECKING:
    from cinch_tui.agent_hooks import AgentHooks
    from extensions.prompt_templates import PromptTemplate
    from extensions.skills import Skill

CHANGED = "[Its allowed-tools and hooks have no effect: the file has changed since the user trusted it.]"


class SkillAccess(Struct):
    """Access to skills in a folder."""

    options: Options
    settings: Settings
    workspace: Workspace
    rules: RuleStore
    """Permission rules of the agent."""
    hooks: AgentHooks | None = None
    """Hooks of the agent; set once it exists."""

    def tools(self, tools: Sequence[Tool], folder: Folder) -> list[Tool]:
        """Return the tools with one for the skills of a folder, if it has any, and let the agent read these skills."""
        others = [tool for tool in tools if tool.name != "skill"]
        if not any(skill.for_model for skill in folder.skills):
            return others
        # Imported here because many users have no skills.
        from extensions.skill_tool import SkillTool

        tool = SkillTool(folder.skills, self._apply)
        if not is_enabled(tool, self.settings):
            return others
        for skill in folder.skills:
            real = os.path.realpath(skill.path.parent)
            if not self.workspace.covers(real):
                self.workspace.allow_reading(Path(real))
        return [*others, tool]

    async def _apply(self, skill: Skill, template: PromptTemplate, context: ToolContext) -> str:
        """Add the permission rules and hooks of a skill until the run ends; return a note if they are ignored."""
        from cinch_tui.trust.prompt import may_run
        from extensions.template_rules import template_rules

        found = template_rules(template, f"the skill {skill.name}", skill.variables)
        needs_trust = skill.level == "project" and bool(template.allowed_tools or template.hooks)
        if needs_trust and not await asyncio.to_thread(may_run, self.options, self.workspace.root, skill.path):
            self.rules.add_for_run(rule for rule in found.rules if rule.effect == "deny")
            return CHANGED
        self.rules.add_for_run(found.rules)
        if self.hooks is not None:
            hooks = self.hooks.of_run(template.hooks, skill.path, skill.level, skill.plugin_root)
            context.add_hooks(f"skill {skill.name}", hooks)
        return ""
