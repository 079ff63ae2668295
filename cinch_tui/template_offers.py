"""Skills, commands of files and task types that are used now, as commands of the interactive front ends."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cinch_tui.commands.builtin import builtin_commands
from cinch_tui.commands.tasks import task_commands
from cinch_tui.commands.templates import file_commands, skill_commands

if TYPE_CHECKING:
    from cinch_tui.assembly.folder import Folder
    from cinch_tui.task_session import TaskSession


def offer_templates(folder: Folder) -> list[str]:
    """Offer the skills and commands of a folder, in place of those offered before; return problems with names.

    The commands of cinch win over both, skills over commands, and both over the skills that come with cinch.
    """
    registry = builtin_commands()
    skills = [each for each in folder.skills if each.level != "bundled" or folder.template(each.name) is each]
    registry.replace_group(skill_commands(skills))
    commands = file_commands(folder.commands)
    registry.replace_group(commands)
    hidden = [each.name for each in commands.commands if registry.find(each.name) is not each]
    if not hidden:
        return []
    names = ", ".join(hidden)
    return [f"Commands of files are hidden by others of the same name; rename their files: {names}"]


def offer_tasks(tasks: TaskSession) -> None:
    """Offer `/task` while there are task types."""
    builtin_commands().replace_group(task_commands(tasks))
