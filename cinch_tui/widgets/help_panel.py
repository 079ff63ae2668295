"""Help beside the conversation, to be read while one works."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from textual.app import ComposeResult
from textual.containers import VerticalScroll
from textual.content import Content
from textual.widgets import Static

from cinch_tui.commands.builtin import builtin_commands
from cinch_tui.keys.keymap import hint
from cinch_tui.keys.table import KEYS

if TYPE_CHECKING:
    from textual.screen import Screen

WIDTH = 36
LEAST_BESIDE = 84
"""Cells that the conversation keeps beside it; where there are fewer, the help takes the whole screen."""


class HelpPanel(VerticalScroll, can_focus=False):
    """The commands, and the keys of the conversation; what is typed still goes to the prompt.

    Out of sight while the terminal is too narrow for both.
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
    """Show the panel on this screen, or take it away; whether that could be done."""
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
