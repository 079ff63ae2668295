"""Input of an API key without echo; the key is checked before it is accepted."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from cinch_tui.api_keys.check import KeyAccepted, KeyCheck, KeyRefused
from cinch_tui.plain.menus import Menus, Option
from cinch_tui.plain.questions import InputClosed

_KEEP, _AGAIN, _CANCEL = range(3)


async def ask_key(menus: Menus, title: str, check: Callable[[str], Awaitable[KeyCheck]]) -> tuple[str, KeyCheck] | None:
    """Return the key with the result of its check; None if cancelled or at the end of the input."""
    menus.writer.write("Question", title)
    try:
        while secret := await menus.hidden_line("Key (not shown; empty to cancel): "):
            menus.writer.write("Notice", "Checking the key.")
            match verdict := await check(secret):
                case KeyAccepted():
                    return secret, verdict
                case KeyRefused(reason):
                    menus.writer.write("Error", f"Refused: {reason}")
                case _:
                    menus.writer.write("Warning", f"The key could not be checked: {verdict.reason}")
                    choices = [Option("Store it anyway"), Option("Enter another key"), Option("Cancel")]
                    chosen = await menus.number(choices)
                    if chosen != _AGAIN:
                        return (secret, verdict) if chosen == _KEEP else None
    except InputClosed:
        pass
    return None
