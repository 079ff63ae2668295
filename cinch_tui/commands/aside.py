"""The command for a question beside the work."""

from __future__ import annotations

from cinch_tui.commands.host import CommandHost
from cinch_tui.commands.registry import Choice, CommandGroup

ASIDE = CommandGroup("Beside the work")


def _choices(front: CommandHost) -> tuple[Choice, ...]:
    del front
    return (Choice("off", "stop the answer"),)


@ASIDE.command("/btw <question>", "ask beside the work; leaves no trace in it", arguments=_choices)
async def btw(front: CommandHost, argument: str) -> None:
    if argument != "off":
        await front.ask_aside(argument)
    elif not front.stop_aside():
        front.notice("no side question is being answered", "warning")
