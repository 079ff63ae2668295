"""The widgets of the chat screen in an app of their own, with a bridge that a test feeds with events."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from fakes.widget_app import WidgetApp

from cinch_tui.controller.bridge import Bridge
from cinch_tui.widgets.chat_widgets import ChatWidgets
from cinch_tui.widgets.status_bar import StatusBar
from harness.ports.tool import Tool


def chat_stage(tools: Callable[[], Sequence[Tool]] = lambda: ()) -> tuple[WidgetApp, ChatWidgets, Bridge]:
    status = StatusBar()
    widgets = ChatWidgets.above(status)
    app = WidgetApp(*widgets.above_prompt, status, styles=("transcript", "code", "panel", "status"))
    # As in the chat, where the prompt has the focus.
    app.AUTO_FOCUS = ""
    return app, widgets, Bridge(widgets, tools)
