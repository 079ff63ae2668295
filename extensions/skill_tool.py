"""skill: returns the instructions of a skill."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from difflib import get_close_matches
from itertools import islice
from pathlib import Path
from typing import Annotated

from msgspec import Meta

from extensions.locations import files_below
from extensions.skills import Skill, read_body
from harness.errors import NotAFile, WorkspaceError
from harness.ports.tool import ToolContext, ToolOutput
from harness.terminal_text import escape_controls, strip_escapes
from harness.views import TextView
from tools.typed import Parameters, TypedTool

MAX_FILES = 50
"""Maximum number of files of a skill that are listed."""


class SkillArguments(Parameters):
    name: Annotated[str, Meta(description="Name of the skill; empty to list all.")] = ""
    arguments: Annotated[str, Meta(description="Arguments of the skill, as text.")] = ""


class SkillTool(TypedTool[SkillArguments]):
    """Tool that reads skills.

    Args:
        skills: Skills that the model may use.
    """

    name = "skill"
    label = "Skill"
    Arguments = SkillArguments

    def __init__(self, skills: Sequence[Skill]) -> None:
        self._skills: Mapping[str, Skill] = {skill.name: skill for skill in skills if skill.for_model}

    @property
    def description(self) -> str:
        return (
            "Return the instructions of a skill from the list of skills in the system prompt. Follow them. Run its "
            "scripts with bash."
        )

    async def execute(self, arguments: SkillArguments, context: ToolContext) -> ToolOutput:
        if not arguments.name:
            return ToolOutput.text("\n".join(f"- {each.name}: {each.description}" for each in self._skills.values()))
        skill = self._skills.get(arguments.name)
        if skill is None:
            near = get_close_matches(arguments.name, self._skills, n=3)
            hint = f"Did you mean {', '.join(near)}?" if near else "Call `skill` without a name to list all."
            return ToolOutput.failure(f"There is no skill {arguments.name!r}. {hint}")
        try:
            # A file may have become a link to another place since the start.
            path = context.workspace.resolve(skill.path)
            text = await asyncio.to_thread(skill_text, path, arguments.arguments)
        except (NotAFile, OSError, UnicodeDecodeError, WorkspaceError) as error:
            return ToolOutput.failure(f"The skill {skill.name} cannot be read: {error}")
        return ToolOutput.text(text, view=TextView(strip_escapes(text)))


def skill_text(path: Path, arguments: str) -> str:
    """Return the instructions of a skill with its arguments, its folder and its other files.

    Args:
        path: Its SKILL.md.
        arguments: Text in place of `$ARGUMENTS`; appended if the body does not have it.

    Raises:
        NotAFile, OSError, UnicodeDecodeError: The file cannot be read.
    """
    body = read_body(path)
    if "$ARGUMENTS" in body:
        body = body.replace("$ARGUMENTS", arguments)
    elif arguments:
        body = f"{body}\n\nArguments: {arguments}"
    others = (each for each in files_below(path.parent) if each != path)
    listed = [escape_controls(str(each.relative_to(path.parent))) for each in islice(others, MAX_FILES + 1)]
    more = ["…"] if len(listed) > MAX_FILES else []
    files = f"\nIts other files: {', '.join(listed[:MAX_FILES] + more)}" if listed else ""
    return f"{body}\n\n[Folder of this skill: {path.parent}{files}]"
