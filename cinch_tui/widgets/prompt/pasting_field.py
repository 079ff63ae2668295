"""Text field that accepts pasted text, images and image paths."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import TYPE_CHECKING

from textual.message import Message

from cinch_tui.widgets.prompt.completing_field import CompletingField
from harness.errors import CinchError
from harness.lazy_dataclass import dataclass

if TYPE_CHECKING:
    from cinch_tui.images.paste_handler import PasteHandler

PATIENCE = 3.0
"""Maximum seconds to examine a paste."""


class PastingField(CompletingField):
    @dataclass
    class Complaint(Message):
        """The paste could not be accepted as it was."""

        text: str

    async def receive(self, text: str) -> None:
        """Insert a paste: as an image if it is one or names one, else as text."""
        if self._input.text.startswith("!"):
            self._input.put(text)
            return
        # Late import: not needed before the first paint.
        from cinch_tui.images.paste_handler import taken_in

        intake = None
        # An unresponsive network folder must not block keys.
        with suppress(TimeoutError):
            async with asyncio.timeout(PATIENCE):
                intake = await taken_in(text, self._mentions.root)
        if intake is None:
            self._input.put(text)
        else:
            self._take_in(intake)

    async def action_paste(self) -> None:
        """Paste from the system clipboard if available, else from the app's own."""
        from cinch_tui.images.clipboard import held
        from cinch_tui.images.paste_handler import shown

        # Textual does not type the return value of its App.
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
