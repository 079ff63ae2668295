"""What a person sees while the model is to be asked again: why, and for how long yet."""

from __future__ import annotations

import math
import time
from typing import TYPE_CHECKING

from cinch_tui.keys.keymap import hint
from harness.agent.retry import in_words

if TYPE_CHECKING:
    from textual.timer import Timer

    from cinch_tui.screens.chat_widgets import ChatWidgets
    from cinch_tui.transcript.blocks import NoticeBlock
    from harness.events import RetryScheduled

WORTH_COUNTING = 3.0
"""Seconds; a shorter wait is over before anybody has read how to end it."""


class RetryNotice:
    """One notice at most; it counts the seconds and goes when it is dropped."""

    def __init__(self, widgets: ChatWidgets) -> None:
        self._widgets = widgets
        self._block: NoticeBlock | None = None
        self._timer: Timer | None = None
        self._event: RetryScheduled | None = None
        self._due = 0.0

    def show(self, event: RetryScheduled) -> None:
        self.drop()
        self._event, self._due = event, time.monotonic() + event.delay
        self._block = self._widgets.notice(_told(event, event.delay), "warning")
        self._widgets.note(f"retry {event.attempt}/{event.max_retries}")
        if event.delay >= WORTH_COUNTING:
            self._timer = self._widgets.transcript.set_interval(1.0, self._count)

    def drop(self) -> None:
        if self._timer is not None:
            self._timer.stop()
        if self._block is not None:
            self._widgets.transcript.drop(self._block)
            self._widgets.note("")
        self._block = self._timer = self._event = None

    def _count(self) -> None:
        if self._block is not None and self._event is not None:
            self._block.text = _told(self._event, self._due - time.monotonic())
            self._widgets.transcript.changed(self._block)


def _told(event: RetryScheduled, left: float) -> str:
    why = event.error if event.error.endswith((".", "!", "?", "…")) else f"{event.error}."
    again = f"{event.attempt} of {event.max_retries}"
    if event.delay < WORTH_COUNTING:
        return f"{why} Trying again in {in_words(event.delay)} ({again})."
    wait = f"in {math.ceil(left)} s" if left > 0 else "now"
    ways = ", ".join(filter(None, ("/retry asks at once", "/model takes another", hint("chat.abort stops"))))
    return f"{why} Trying again {wait} ({again}): {ways}."
