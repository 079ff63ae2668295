"""What can be done here, as lines."""

from __future__ import annotations

from collections.abc import Iterator

from cinch_tui.commands.builtin import builtin_commands

KEYS = (
    "Enter sends a line; a backslash at its end goes on with another; a line of ``` begins and ends several lines.",
    "Enter while the agent works opens a line to steer it with; what it says waits for the end of that line.",
    "Ctrl+C stops the agent, and leaves at the second time. Ctrl+D leaves.",
    "A question is answered by a number.",
)


def help_lines() -> Iterator[str]:
    yield from KEYS
    for family in builtin_commands().families:
        yield f"{family.title}:"
        for command in family.commands:
            also = f" (also {', '.join(command.aliases)})" if command.aliases else ""
            yield f"  {command.usage}: {command.summary}{also}"
