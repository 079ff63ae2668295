"""Skills, commands of files and task types that are used now, as commands of the interactive front ends."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cinch_tui.commands.builtin import builtin_commands
from cinch_tui.commands.registry import CommandGroup
from cinch_tui.commands.tasks import task_commands
from cinch_tui.commands.templates import FILES, file_commands, skill_commands

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
    # Without those of files, what remains are the names that are taken.
    registry.replace_group(CommandGroup(FILES))
    hidden = [each for each in folder.commands if registry.find(f"/{each.name}")]
    registry.replace_group(file_commands(folder.commands, {f"/{each.name}".lower() for each in hidden}))
    problems = {
        "use": [f"/{each.scoped_name}" for each in hidden if each.scoped_name],
        "rename their files:": [f"/{each.name}" for each in hidden if not each.scoped_name],
    }
    return [
        f"Commands of files are hidden by others of the same name; {remedy} {', '.join(names)}"
        for remedy, names in problems.items()
        if names
    ]


def offer_tasks(tasks: TaskSession) -> None:
    """Offer `/task` while there are task types."""
    builtin_commands().replace_group(task_commands(tasks))
