"""Help panel next to the transcript."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from textual.app import ComposeResult
from textual.containers import VerticalScroll
from textual.content import Content
from textual.widgets import Static

from cinch_tui.commands.builtin import builtin_commands
from cinch_tui.keybindings.keymap import hint
from cinch_tui.keybindings.table import KEYS

if TYPE_CHECKING:
    from textual.screen import Screen

WIDTH = 36
LEAST_BESIDE = 84
"""Minimum width of the transcript; on narrower terminals help is a full screen."""


class HelpPanel(VerticalScroll, can_focus=False):
    """Commands and keys; the prompt stays focused.

    Hidden while the terminal is too narrow.
    """

    SCOPED_CSS = False
    DEFAULT_CSS = """
    HelpPanel {
        dock: right;
        width: 36;
        height: 100%;
        padding: 0 1;
        border-left: vkey $foreground 40%;
        background: $surface;
        scrollbar-size-vertical: 1;
    }
    .-narrow HelpPanel { display: none; }
    """

    def compose(self) -> ComposeResult:
        yield Static(Content("\n").join(_lines()), markup=False)


def toggle_help(screen: Screen[object]) -> bool:
    """Show or remove the panel; return False if the terminal is too narrow."""
    if shown := screen.query(HelpPanel):
        shown.remove()
        return True
    if screen.size.width < WIDTH + LEAST_BESIDE:
        return False
    screen.mount(HelpPanel())
    return True


def _lines() -> Iterator[Content]:
    yield Content.styled(hint("chat.abort closes this", "chat.help shows all keys"), "$foreground-muted")
    for group in builtin_commands().groups:
        yield Content.styled(f"\n{group.title}", "bold underline")
        for command in group.commands:
            yield Content.assemble((command.usage, "bold"), f"  {command.summary}")
    yield Content.styled("\nKeys", "bold underline")
    for key in (key for key in KEYS if key.owner in ("prompt", "chat")):
        yield Content.assemble((key.label, "bold"), f"  {key.description}")
