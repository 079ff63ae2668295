"""Empty app for testing one dialog and its result."""

from __future__ import annotations

from typing import Any

from textual.app import App
from textual.pilot import Pilot
from textual.screen import Screen
from textual.widgets import Input

from cinch_tui.keybindings.prompt_keys import TypedForPrompt
from cinch_tui.screens.dialog import Dialog


class Host(App[None]):
    """App that records the results of its dialogs and the keys they did not handle."""

    def __init__(self, first: Screen[object] | None = None) -> None:
        super().__init__()
        self.first = first
        self.animation_level = "none"
        self.results: list[object] = []
        self.typed: list[str] = []

    async def on_mount(self) -> None:
        if self.first is not None:
            await self.push_screen(self.first, self.results.append)
            # A snapshot must not depend on when it is taken.
            for field in self.first.query(Input):
                field.cursor_blink = False

    def on_typed_for_prompt(self, message: TypedForPrompt) -> None:
        self.typed.append(message.text)


async def until_listening(pilot: Pilot[Any]) -> None:
    """Wait until the top dialog accepts answer keys again."""
    await pilot.pause()
    while isinstance(pilot.app.screen, Dialog) and pilot.app.screen.waiting:
        await pilot.pause(0.01)
