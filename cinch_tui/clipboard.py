"""Copying: through the terminal, which works over SSH, and through the system, for terminals that cannot."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from textual.app import App

# A clipboard program without a display to talk to may wait for ever.
PATIENCE = 2.0


@dataclass(frozen=True, slots=True)
class Copied:
    """`system` is true when the system's clipboard took the text, and not only the terminal was asked to."""

    characters: int
    system: bool

    @property
    def words(self) -> str:
        # The terminal does not answer: whether it keeps what it is asked to, nobody knows.
        return f"Copied {self.characters:,} characters{'' if self.system else ', if the terminal allows it'}."


async def copy(app: App[object], text: str) -> None:
    """Copy, and say on the screen how it was done."""
    copied = await copy_text(text, app.copy_to_clipboard)
    app.notify(copied.words, markup=False)


async def copy_text(text: str, through_terminal: Callable[[str], None]) -> Copied:
    """Copy by every way there is. `through_terminal` is the app's `copy_to_clipboard`."""
    through_terminal(text)
    try:
        async with asyncio.timeout(PATIENCE):
            took = await asyncio.to_thread(_through_system, text)
    except TimeoutError:
        took = False
    return Copied(len(text), took)


def _through_system(text: str) -> bool:
    # Looks for clipboard programs when it is imported.
    import pyperclip

    try:
        pyperclip.copy(text)
    except (pyperclip.PyperclipException, OSError):
        return False
    return True
