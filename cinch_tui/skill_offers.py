"""Skills and task types that are used now, as commands of the interactive front ends."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cinch_tui.commands.builtin import builtin_commands
from cinch_tui.commands.skills import skill_commands
from cinch_tui.commands.tasks import task_commands

if TYPE_CHECKING:
    from cinch_tui.assembly.folder import Folder
    from cinch_tui.task_session import TaskSession


def offer_skills(folder: Folder) -> None:
    """Offer the skills of a folder as commands, in place of those offered before."""
    builtin_commands().replace_group(skill_commands(folder.skills))


def offer_tasks(tasks: TaskSession) -> None:
    """Offer `/task` while there are task types."""
    builtin_commands().replace_group(task_commands(tasks))
