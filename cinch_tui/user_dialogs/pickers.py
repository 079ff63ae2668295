"""Choosing one of several values in a dialog."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import TYPE_CHECKING

from cinch_tui.screens.dialog import GRACE, PAUSE
from cinch_tui.screens.picker import Item, Picker
from cinch_tui.screens.short_list import MOST, ShortList

if TYPE_CHECKING:
    from textual.app import App


def grace(*, is_typing: bool) -> float:
    """Return the seconds for which keys still go to the prompt when a dialog opens unasked."""
    return PAUSE if is_typing else GRACE


async def pick(app: App[object], title: str, choices: Sequence[tuple[str, str]], current: str = "") -> str | None:
    """Let the user choose one of these (name, detail); return its name, or None on Esc.

    A few choices are numbered, more can be filtered. To be called in a worker.
    """
    if len(choices) <= MOST and not current:
        return await app.push_screen_wait(ShortList(title, choices))
    items = [Item(name, detail, name) for name, detail in choices]
    return await app.push_screen_wait(Picker(title, items, current=current))


async def pick_index(app: App[object], title: str, choices: Sequence[tuple[str, str]], *, grace: float) -> int | None:
    """Let the user choose one of these (name, detail); return its index, or None on Esc.

    Need not be called in a worker. The dialog closes when the caller is cancelled.
    """
    picker = Picker(title, [Item(name, detail, index) for index, (name, detail) in enumerate(choices)], grace=grace)
    answered: asyncio.Future[int | None] = asyncio.get_running_loop().create_future()

    def settle(index: int | None) -> None:
        if not answered.done():
            answered.set_result(index)

    await app.push_screen(picker, settle)
    try:
        return await answered
    except asyncio.CancelledError:
        picker.withdraw()
        raise
