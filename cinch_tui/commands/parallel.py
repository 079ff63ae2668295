"""The command that asks several models at once."""

from __future__ import annotations

import re

from cinch_tui.commands.host import CommandHost, full_screen
from cinch_tui.commands.model import model_choices
from cinch_tui.commands.registry import Choice, CommandGroup, unavailable_while_running

PARALLEL = CommandGroup("Several models at once")

_DASHES = re.compile(r"(?:^|\s)--(?:\s+|$)")


def _choices(host: CommandHost) -> tuple[Choice, ...]:
    verbs = (Choice("pick", "choose between the answers"), Choice("off", "the next prompt goes to the session's model"))
    return (*model_choices(host), *verbs)


@PARALLEL.command(
    "/parallel <model>… [-- prompt]",
    "ask several models at once, or the next prompt; you pick the answer to continue with",
    arguments=_choices,
)
async def parallel(host: CommandHost, argument: str) -> None:
    named, *prompt = _DASHES.split(argument, maxsplit=1)
    match named.split():
        case ["pick"]:
            full_screen(host, "there are no answers to pick from").pick_answer()
        case _ if host.session.is_running:
            host.notice(unavailable_while_running("/parallel", host), "warning")
        case ["off"]:
            if host.full_screen is not None:
                host.full_screen.ask_one()
            host.notice(f"The next prompt goes to {host.session.agent.state.model.spec.name}.")
        case models:
            screen = full_screen(
                host,
                "/parallel needs the screen, where answers stand side by side; start cinch without --plain",
            )
            await screen.ask_several(models, " ".join(prompt).strip())
