"""Access of an agent to skills: the tool that reads them, their folders, and their permission rules."""

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
from harness.ports.tool import Tool
from harness.workspace.workspace import Workspace

if TYPE_CHECKING:
    from extensions.prompt_templates import PromptTemplate
    from extensions.skills import Skill

CHANGED = "[Its allowed-tools have no effect: the file has changed since the user trusted it.]"


class SkillAccess(Struct, frozen=True):
    """Access to skills in a folder."""

    options: Options
    settings: Settings
    workspace: Workspace
    rules: RuleStore
    """Permission rules of the agent."""

    def tools(self, tools: Sequence[Tool], folder: Folder) -> list[Tool]:
        """Return the tools with one for the skills of a folder, if it has any, and let the agent read these skills."""
        others = [tool for tool in tools if tool.name != "skill"]
        if not any(skill.for_model for skill in folder.skills):
            return others
        # Imported here because many users have no skills.
        from extensions.skill_tool import SkillTool

        tool = SkillTool(folder.skills, self._allow)
        if not is_enabled(tool, self.settings):
            return others
        for skill in folder.skills:
            real = os.path.realpath(skill.path.parent)
            if not self.workspace.covers(real):
                self.workspace.allow_reading(Path(real))
        return [*others, tool]

    async def _allow(self, skill: Skill, template: PromptTemplate) -> str:
        """Add the permission rules of a skill until the run ends; return a note for the model if they are ignored."""
        from cinch_tui.trust.prompt import may_run
        from extensions.template_rules import template_rules

        found = template_rules(template, f"the skill {skill.name}", skill.variables)
        is_project = skill.level == "project" and bool(template.allowed_tools)
        if is_project and not await asyncio.to_thread(may_run, self.options, self.workspace.root, skill.path):
            self.rules.add_for_run(rule for rule in found.rules if rule.effect == "deny")
            return CHANGED
        self.rules.add_for_run(found.rules)
        return ""
