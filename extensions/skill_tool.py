"""skill: returns the instructions of a skill."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from difflib import get_close_matches
from typing import Annotated

from msgspec import Meta

from extensions.index_text import FileError, reason, shown
from extensions.prompt_templates import PromptTemplate
from extensions.skills import Skill, skill_template
from harness.errors import WorkspaceError
from harness.ports.tool import ToolContext, ToolOutput
from harness.terminal_text import strip_escapes
from harness.views import TextView
from tools.typed import Parameters, TypedTool

COMMANDS = "[Run the commands in !`…` with {bash} first: each stands in the place of its output.]"


async def change_nothing(skill: Skill, template: PromptTemplate, context: ToolContext) -> str:
    """Add no permission rules and no hooks."""
    del skill, template, context
    return ""


class SkillArguments(Parameters):
    name: Annotated[str, Meta(description="Name of the skill; empty to list all.")] = ""
    arguments: Annotated[str, Meta(description="Arguments of the skill, as text.")] = ""


class SkillTool(TypedTool[SkillArguments]):
    """Tool that reads skills.

    Args:
        skills: Skills that the model may use.
        apply: Adds the permission rules and hooks of a skill to those of the run, and returns a note for the model.
    """

    name = "skill"
    label = "Skill"
    Arguments = SkillArguments

    def __init__(
        self,
        skills: Sequence[Skill],
        apply: Callable[[Skill, PromptTemplate, ToolContext], Awaitable[str]] = change_nothing,
    ) -> None:
        self._skills: Mapping[str, Skill] = {skill.name: skill for skill in skills if skill.for_model}
        self._apply = apply

    @property
    def description(self) -> str:
        return (
            "Return the instructions of a skill from the list of skills in the system prompt. Follow them. Run its "
            "scripts with bash."
        )

    async def execute(self, arguments: SkillArguments, context: ToolContext) -> ToolOutput:
        if not arguments.name:
            lines = (shown(f"- {each.name}: {each.description}") for each in self._skills.values())
            return ToolOutput.text("\n".join(lines))
        skill = self._skills.get(arguments.name)
        if skill is None:
            near = get_close_matches(arguments.name, self._skills, n=3)
            hint = (
                f"Did you mean {', '.join(map(shown, near))}?"
                if near
                else f"Call `{context.name_of(self.name)}` without a name to list all."
            )
            return ToolOutput.failure(f"There is no skill {arguments.name!r}. {hint}")
        try:
            # A file may have become a link to another place since the start.
            path = context.workspace.resolve(skill.path)
            template = await asyncio.to_thread(skill_template, path)
        except (*FileError, WorkspaceError) as error:
            return ToolOutput.failure(f"The skill {shown(skill.name)} cannot be read: {reason(error)}")
        filled = template.fill(arguments.arguments, skill.variables)
        notes = (context.mention(COMMANDS) if filled.commands else "", await self._apply(skill, template, context))
        text = "\n\n".join((filled.unexecuted, *filter(None, notes)))
        return ToolOutput.text(text, view=TextView(strip_escapes(text)))
