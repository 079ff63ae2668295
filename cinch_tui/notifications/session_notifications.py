"""Notifications of the session: through the terminal and on the desktop."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from textual.message import Message

from cinch_tui.notifications.channels import Notification, show_on_desktop, written
from cinch_tui.notifications.watch import Notifications

if TYPE_CHECKING:
    from textual.app import App

    from cinch_tui.config.options import Options
    from cinch_tui.config.settings import UiSettings
    from cinch_tui.notifications.presence import Presence
    from harness.events import Event


class UserNotified(Message):
    """Write a sequence to the terminal; posted to the app."""

    def __init__(self, sequence: str) -> None:
        super().__init__()
        self.sequence = sequence


def calling(app: App[object], presence: Presence, options: Options, ui: UiSettings) -> Callable[[Event], None]:
    """Return the event handler that notifies the user of this session."""

    def call(words: str) -> None:
        about = Notification.about(options.cwd.name, words)
        if sequence := written(ui.notify, about, options.environ):
            app.post_message(UserNotified(sequence))
        if "desktop" in ui.notify and "off" not in ui.notify:
            show_on_desktop(about)

    return Notifications(presence, call, ui.notify_after_s).receive
