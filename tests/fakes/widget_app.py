"""App around widgets under test, with the product's styles and theme; records its messages."""

from __future__ import annotations

from pathlib import Path

from textual.app import App, ComposeResult
from textual.message import Message
from textual.widget import Widget
from textual.widgets import Static

from cinch_tui.app.themes import DEFAULT_THEME, load_theme

STYLES = Path(__file__).resolve().parents[2] / "cinch_tui" / "styles"


class WidgetApp(App[None]):
    CSS = "#rest { height: 1fr; }"
    ENABLE_COMMAND_PALETTE = False

    def __init__(self, *widgets: Widget, styles: tuple[str, ...], theme: str = DEFAULT_THEME) -> None:
        super().__init__(css_path=[STYLES / f"{name}.tcss" for name in styles])
        self._widgets = widgets
        self._theme_name = theme
        self.received: list[Message] = []

    def compose(self) -> ComposeResult:
        yield Static("The conversation.", id="rest")
        yield from self._widgets

    def on_mount(self) -> None:
        self.register_theme(load_theme(self._theme_name))
        self.theme = self._theme_name

    def keep(self, message: Message) -> None:
        self.received.append(message)
