"""Text field that takes pastes: text, pictures and the paths of pictures."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import TYPE_CHECKING

from textual.message import Message

from cinch_tui.widgets.prompt.completing import CompletingField
from harness.errors import CinchError
from harness.lazy_dataclass import dataclass

if TYPE_CHECKING:
    from cinch_tui.images.paste_handler import PasteHandler

PATIENCE = 3.0
"""Seconds that a paste may take to be looked at."""


class PastingField(CompletingField):
    @dataclass
    class Complaint(Message):
        """What was pasted could not be taken as it was."""

        text: str

    async def receive(self, text: str) -> None:
        """Insert what was pasted; a picture, or the path of one, as the picture."""
        if self._input.text.startswith("!"):
            self._input.put(text)
            return
        # Nothing is pasted before the first paint.
        from cinch_tui.images.paste_handler import taken_in

        intake = None
        # A folder on a machine that does not answer must not hold up the keys.
        with suppress(TimeoutError):
            async with asyncio.timeout(PATIENCE):
                intake = await taken_in(text, self._mentions.root)
        if intake is None:
            self._input.put(text)
        else:
            self._take_in(intake)

    async def action_paste(self) -> None:
        """From the system's clipboard, where there is a way to it; else what was copied here."""
        from cinch_tui.images.clipboard import held
        from cinch_tui.images.paste_handler import shown

        # Textual leaves open what an app returns, and so the app's type.
        copied: str = self.app.clipboard  # pyright: ignore[reportUnknownMemberType]
        try:
            found = await held()
        except CinchError as error:
            if not copied:
                self.post_message(self.Complaint(str(error)))
            await self.receive(copied)
            return
        if found.picture:
            self._take_in(await shown(found.picture, "clipboard"))
        elif found.text or copied:
            await self.receive(found.text or copied)
        else:
            self.post_message(self.Complaint("The clipboard is empty."))

    def _take_in(self, intake: PasteHandler) -> None:
        for piece in intake.pieces:
            if isinstance(piece, str):
                self._input.put(piece)
            else:
                self._input.attach(piece)
        for reason in intake.refused:
            self.post_message(self.Complaint(reason))
