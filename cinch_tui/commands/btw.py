"""The command for side questions."""

from __future__ import annotations

from cinch_tui.commands.host import CommandHost
from cinch_tui.commands.registry import Choice, CommandGroup

SIDE_QUESTIONS = CommandGroup("Beside the work")


def _choices(host: CommandHost) -> tuple[Choice, ...]:
    del host
    return (Choice("off", "stop the answer"),)


@SIDE_QUESTIONS.command("/btw <question>", "ask beside the work; leaves no trace in it", arguments=_choices)
async def btw(host: CommandHost, argument: str) -> None:
    if argument != "off":
        await host.answer_side_question(argument)
    elif not host.side_questions.stop():
        host.notice("no side question is being answered", "warning")
