"""Notifications in plain mode: the terminal bell, and desktop notifications if enabled."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from cinch_tui.notifications.channels import Notification, show_on_desktop
from cinch_tui.notifications.watch import Notifications

if TYPE_CHECKING:
    from cinch_tui.config.settings import UiSettings
    from cinch_tui.plain.menus import Menus
    from harness.events import Event


def ringing(menus: Menus, ui: UiSettings, project: str) -> Callable[[Event], None]:
    def call(words: str) -> None:
        if "off" in ui.notify:
            return
        if any(kind != "desktop" for kind in ui.notify):
            menus.writer.bell()
        if "desktop" in ui.notify:
            show_on_desktop(Notification.about(project, words))

    return Notifications(menus.presence, call, ui.notify_after_s).receive
