"""Keeps the draft while a person types: soon after a change, at once when it was sent, and at the end."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from textual import work
from textual.message import Message
from textual.timer import Timer
from textual.widget import Widget

from cinch_tui.user_input import UserInput, join_inputs
from cinch_tui.widgets.prompt.draft import Draft
from harness.lazy_dataclass import dataclass

SECONDS = 0.5
"""So much of the last typing may be lost in a crash."""


class DraftKeeper(Widget):
    """Is not seen. `read` gives what stands in the prompt now."""

    DEFAULT_CSS = "DraftKeeper { display: none; }"

    @dataclass
    class Found(Message):
        """What was typed in this project and never sent."""

        words: UserInput

    def __init__(self, draft: Draft, read: Callable[[], UserInput]) -> None:
        super().__init__()
        self._draft = draft
        self._read = read
        self._is_open = False
        self._planned: Timer | None = None
        self._one_at_a_time = asyncio.Lock()

    def on_mount(self) -> None:
        self.call_after_refresh(self._open)

    def on_unmount(self) -> None:
        # Whoever leaves at once had no draft yet that could be shown.
        before = UserInput("") if self._is_open else self._draft.open()
        self._draft.write(join_inputs([each for each in (before, self._read()) if each.text]))
        self._draft.close()

    def changed(self) -> None:
        """The text is another now."""
        if not self._is_open:
            return
        if not self._read().text:
            self._write()
        elif self._planned is None:
            self._planned = self.set_timer(SECONDS, self._write)

    @work(group="draft")
    async def _open(self) -> None:
        async with self._one_at_a_time:
            words = await asyncio.to_thread(self._draft.open)
            self._is_open = True
        if words.text:
            self.post_message(self.Found(words))
        else:
            self.changed()

    @work(group="draft")
    async def _write(self) -> None:
        self._planned = None
        async with self._one_at_a_time:
            await asyncio.to_thread(self._draft.write, self._read())
