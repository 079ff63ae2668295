"""Task types as a command: `/task`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from cinch_tui.commands.host import CommandHost
from cinch_tui.commands.registry import Choice, CommandGroup
from cinch_tui.task_session import NONE
from harness.terminal_text import escape_controls

if TYPE_CHECKING:
    from cinch_tui.task_session import TaskSession
    from extensions.lifecycle.task_types import TaskType

AUTO = "auto"


def task_commands(tasks: TaskSession) -> CommandGroup:
    """Return the command about task types; none without task types."""
    group = CommandGroup("Task types")
    if not tasks.types:
        return group

    def choices(host: CommandHost) -> Sequence[Choice]:
        del host
        return [
            *(Choice(each.name, each.description) for each in tasks.types),
            Choice(NONE, "no task type for the next prompt"),
            Choice(AUTO, "find it from the prompt"),
        ]

    @group.command("/task [type]", "list task types, or choose one for the next prompt", arguments=choices)
    async def task(host: CommandHost, name: str) -> None:  # pyright: ignore[reportUnusedFunction] registered
        if not name:
            host.show("Task types", _listed(tasks))
            return
        tasks.choose("" if name == AUTO else name)
        host.notice(f"Task type of the next prompt: {tasks.chosen or 'found from its text'}")

    return group


def _listed(tasks: TaskSession) -> str:
    lines = [f"- {_described(each)}" for each in tasks.types]
    if tasks.chosen:
        lines += ["", f"For the next prompt: {tasks.chosen}, as you chose."]
    if tasks.latest:
        found = tasks.latest.found
        lines += ["", f"Of the last prompt: {f'{found.name} ({found.reason})' if found else 'none'}."]
    return escape_controls("\n".join(lines))


def _described(task: TaskType) -> str:
    limits = task.limits
    parts = [
        task.description,
        "default" if task.is_default else "",
        f"tools: {', '.join(task.tools)}" if task.tools else "",
        f"{limits.max_turns} turns at most" if limits.max_turns else "",
        f"{limits.max_seconds:g} s at most" if limits.max_seconds else "",
        f"${limits.max_cost:g} at most" if limits.max_cost else "",
        f"until {task.markers[0]}" if task.markers else "",
    ]
    return f"**{task.name}** {' · '.join(filter(None, parts))}"
