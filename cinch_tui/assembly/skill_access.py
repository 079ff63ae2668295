"""Access of an agent to skills: the tool that reads them, and their folders."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from cinch_tui.assembly.folder import Folder
from cinch_tui.config.settings import Settings
from cinch_tui.permissions import is_enabled
from harness.ports.tool import Tool
from harness.workspace.workspace import Workspace


def with_skills(tools: Sequence[Tool], folder: Folder, workspace: Workspace, settings: Settings) -> list[Tool]:
    """Return the tools with one for the skills of a folder, if it has any, and let the agent read these skills."""
    others = [tool for tool in tools if tool.name != "skill"]
    if not any(skill.for_model for skill in folder.skills):
        return others
    # Imported here because many users have no skills.
    from extensions.skill_tool import SkillTool

    tool = SkillTool(folder.skills)
    if not is_enabled(tool, settings):
        return others
    for skill in folder.skills:
        real = os.path.realpath(skill.path.parent)
        if not workspace.covers(real):
            workspace.allow_reading(Path(real))
    return [*others, tool]
