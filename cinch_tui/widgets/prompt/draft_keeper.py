"""Draft saving: shortly after a change, immediately after sending, and at exit."""

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
"""Delay in seconds; typing within it may be lost in a crash."""


class DraftKeeper(Widget):
    """Invisible widget. `read` returns the current prompt."""

    DEFAULT_CSS = "DraftKeeper { display: none; }"

    @dataclass
    class Found(Message):
        """An unsent draft from an earlier start."""

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
        # If the user quits immediately, the old draft was not shown yet.
        before = UserInput("") if self._is_open else self._draft.open()
        self._draft.write(join_inputs([each for each in (before, self._read()) if each.text]))
        self._draft.close()

    def changed(self) -> None:
        """Schedule saving after a change."""
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
