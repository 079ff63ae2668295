"""What can be done here, as lines."""

from __future__ import annotations

from collections.abc import Iterator

from cinch_tui.commands.builtin import builtin_commands
from cinch_tui.commands.registry import Command

KEYS = (
    "Enter sends a line; a backslash at its end goes on with another; a line of ``` begins and ends several lines.",
    "Enter while the agent works opens a line to steer it with; what it says waits for the end of that line.",
    "Ctrl+C stops the agent, and leaves at the second time. Ctrl+D leaves.",
    "? says what the agent is at, and for how long.",
    "A question is answered by a number; ? lists the choices once more.",
    "!command runs a command of your own and shares its output with the model in your next prompt; !! does not.",
)
OF_THE_SCREEN = ("/parallel", "/panel", "/agents", "/changes", "#clear", "/timestamps", "/theme", "/editor", "/vim")
"""Commands that say here that they need the screen."""
_OTHERWISE = {
    "#help": "these lines",
    "#copy": "write the last reply once more without labels, the n-th last, all, or its code",
    "/diff": "what changed in the files",
    "/settings": "all settings",
    "/logs": "where cinch writes what it notes of itself",
    "/paste": "send the picture in the system's clipboard with what you say next",
}


def help_lines() -> Iterator[str]:
    yield from KEYS
    for group in builtin_commands().groups:
        if commands := [each for each in group.commands if each.name not in OF_THE_SCREEN]:
            yield f"{group.title}:"
            yield from map(_line, commands)
    yield f"With the screen alone: {', '.join(OF_THE_SCREEN)}"


def _line(command: Command) -> str:
    also = f" (also {', '.join(command.aliases)})" if command.aliases else ""
    return f"  {command.usage}: {_OTHERWISE.get(command.name, command.summary)}{also}"
