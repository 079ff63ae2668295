"""Notice shown while a failed model call waits for its retry, with the reason and a countdown."""

from __future__ import annotations

import math
import time
from typing import TYPE_CHECKING

from cinch_tui.keybindings.keymap import hint
from cinch_tui.reports.notices import retry_text, sentence

if TYPE_CHECKING:
    from textual.timer import Timer

    from cinch_tui.transcript.blocks import NoticeBlock
    from cinch_tui.widgets.chat_widgets import ChatWidgets
    from harness.events import RetryScheduled

MIN_COUNTDOWN_S = 3.0
"""Seconds; a shorter wait is over before anyone has read how to end it."""


class RetryNotice:
    """At most one notice, which counts down the seconds until it is dropped."""

    def __init__(self, widgets: ChatWidgets) -> None:
        self._widgets = widgets
        self._block: NoticeBlock | None = None
        self._timer: Timer | None = None
        self._event: RetryScheduled | None = None
        self._due = 0.0

    def show(self, event: RetryScheduled) -> None:
        self.drop()
        self._event, self._due = event, time.monotonic() + event.delay
        self._block = self._widgets.notice(_text(event, event.delay), "warning")
        self._widgets.set_status(note=f"retry {event.attempt}/{event.max_retries}")
        if event.delay >= MIN_COUNTDOWN_S:
            self._timer = self._widgets.transcript.set_interval(1.0, self._update)

    def drop(self) -> None:
        if self._timer is not None:
            self._timer.stop()
        if self._block is not None:
            self._widgets.transcript.drop(self._block)
            self._widgets.set_status(note="")
        self._block = self._timer = self._event = None

    def _update(self) -> None:
        if self._block is not None and self._event is not None:
            self._block.text = _text(self._event, self._due - time.monotonic())
            self._widgets.transcript.changed(self._block)


def _text(event: RetryScheduled, seconds_left: float) -> str:
    if event.delay < MIN_COUNTDOWN_S:
        return retry_text(event)
    reason, attempt = sentence(event.error), f"{event.attempt} of {event.max_retries}"
    wait = f"in {math.ceil(seconds_left)} s" if seconds_left > 0 else "now"
    options = ", ".join(filter(None, ("/retry asks at once", "/model takes another", hint("chat.abort stops"))))
    return f"{reason} Trying again {wait} ({attempt}): {options}."
