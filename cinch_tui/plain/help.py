"""Help of plain mode: keys and commands as lines."""

from __future__ import annotations

from collections.abc import Iterator

from cinch_tui.commands.builtin import builtin_commands
from cinch_tui.commands.registry import Command

KEYS = (
    "Enter sends a line; a backslash at its end continues it; a line of ``` begins and ends several lines.",
    "Enter during a run opens a line for a steering message; output is held back until you send it.",
    "Ctrl+C stops the agent; pressed again, it quits. Ctrl+D quits.",
    "? shows the current activity and its duration.",
    "Answer a question with a number; ? lists the choices again.",
    "!command runs a shell command and sends its output to the model with your next prompt; !! does not send it.",
)
FULL_SCREEN_COMMANDS = (
    "/parallel",
    "/panel",
    "/changes",
    "#clear",
    "/timestamps",
    "/theme",
    "/editor",
    "/vim",
)
"""Commands that need the screen."""
_PLAIN_SUMMARIES = {
    "#help": "show this help",
    "#copy": "print the last reply without labels; or the n-th last, all, or its code",
    "/diff": "show changed files",
    "/settings": "list all settings",
    "/logs": "print the path of the log file",
    "/paste": "attach the image in the clipboard to your next prompt",
}


def help_lines() -> Iterator[str]:
    yield from KEYS
    for group in builtin_commands().groups:
        if commands := [each for each in group.commands if each.name not in FULL_SCREEN_COMMANDS]:
            yield f"{group.title}:"
            yield from map(_help_line, commands)
    yield f"Only in the full-screen app: {', '.join(FULL_SCREEN_COMMANDS)}"


def _help_line(command: Command) -> str:
    also = f" (also {', '.join(command.aliases)})" if command.aliases else ""
    return f"  {command.usage}: {_PLAIN_SUMMARIES.get(command.name, command.summary)}{also}"
