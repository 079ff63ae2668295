"""All commands in one list, found by a few letters of them."""

from __future__ import annotations

from textual.await_complete import AwaitComplete
from textual.command import CommandPalette


class Palette(CommandPalette):
    """Textual's own, which closes whatever is on top: a question that came meanwhile, or, closed twice, the chat."""

    def dismiss(self, result: None = None) -> AwaitComplete:
        is_on_top = self.app.screen is self  # pyright: ignore[reportUnknownMemberType] as its App
        return super().dismiss(result) if is_on_top else AwaitComplete.nothing()
