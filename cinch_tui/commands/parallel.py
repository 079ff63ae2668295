"""The command that asks several models at once."""

from __future__ import annotations

import re

from cinch_tui.commands.host import CommandHost
from cinch_tui.commands.registry import Choice, CommandGroup, unavailable_while_running

PARALLEL = CommandGroup("Several models at once")

_DASHES = re.compile(r"(?:^|\s)--(?:\s+|$)")


def _choices(front: CommandHost) -> tuple[Choice, ...]:
    verbs = (Choice("pick", "choose between the answers"), Choice("off", "the next prompt goes to the session's model"))
    return (*(Choice(name) for name in front.model_names()), *verbs)


@PARALLEL.command(
    "/parallel <model>… [-- prompt]",
    "ask several models at once, or the next prompt; you pick the answer that goes on",
    arguments=_choices,
)
async def parallel(front: CommandHost, argument: str) -> None:
    named, *prompt = _DASHES.split(argument, maxsplit=1)
    match named.split():
        case ["pick"]:
            front.pick_answer()
        case _ if front.is_running:
            front.notice(unavailable_while_running("/parallel", front), "warning")
        case ["off"]:
            front.ask_one()
        case models:
            await front.ask_several(models, " ".join(prompt).strip())
