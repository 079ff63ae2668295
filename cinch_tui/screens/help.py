"""What keys and commands there are."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import ClassVar

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical, VerticalScroll
from textual.widgets import Static

from cinch_tui.keymap import key_label
from cinch_tui.screens.dialog import Dialog, stylesheets


@dataclass(frozen=True, slots=True)
class Section:
    """Rows under a title: what is typed or pressed, and what it does."""

    title: str
    rows: tuple[tuple[str, str], ...]


class HelpScreen(Dialog[None]):
    """Scrolls; Esc, `q` and F1 close it."""

    CSS_PATH = stylesheets("help")
    FIRST_FOCUS = "#sections"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,q,f1,enter", "close", "Close", id="help.close"),
        Binding("j", "scroll(1)", "Down", show=False, id="help.down"),
        Binding("k", "scroll(-1)", "Up", show=False, id="help.up"),
        Binding("space", "page", "Page down", show=False, id="help.page-down"),
    ]

    def __init__(self, sections: Sequence[Section]) -> None:
        super().__init__(grace=0)
        self._sections = sections

    def compose(self) -> ComposeResult:
        with Vertical(id="dialog") as dialog:
            dialog.border_title = "Help"
            dialog.border_subtitle = "↑ ↓ PgUp PgDn scroll · Esc closes"
            with VerticalScroll(id="sections"):
                yield Static(Group(*self._parts()), markup=False)

    def action_close(self) -> None:
        self.answer(None)

    def action_scroll(self, by: int) -> None:
        self.query_one("#sections").scroll_relative(y=by, animate=False)

    def action_page(self) -> None:
        self.query_one("#sections").scroll_page_down(animate=False)

    def _parts(self) -> Iterator[RenderableType]:
        for number, section in enumerate(self._sections):
            yield Text(f"\n{section.title}" if number else section.title, style="bold underline")
            table = Table.grid(padding=(0, 2), expand=True)
            table.add_column(ratio=2)
            table.add_column(ratio=3)
            for left, right in section.rows:
                table.add_row(Text(left, style="bold"), Text(right))
            yield table


def help_screen() -> HelpScreen:
    """The help of this program: every key in the keymap, every command in the registry."""
    from cinch_tui.commands.builtin import builtin_commands
    from cinch_tui.keymap import KEYS

    keys = Section("Keys", tuple((key.label, key.description) for key in KEYS))
    families = (
        Section(family.title, tuple((command.usage, command.summary) for command in family.commands))
        for family in builtin_commands().families
    )
    return HelpScreen([keys, *_dialogs(), *families])


def _dialogs() -> Iterator[Section]:
    """The keys of the screens in which changes are looked at and decided about."""
    from cinch_tui.screens.approval import ApprovalScreen
    from cinch_tui.screens.changes import ChangesScreen
    from cinch_tui.widgets.review_pane import ReviewPane

    titled = {
        "When you are asked about a call": ApprovalScreen.BINDINGS,
        "In a change you choose from": ReviewPane.BINDINGS,
        "In /diff": ChangesScreen.BINDINGS,
    }
    for title, bindings in titled.items():
        shown = [each for each in bindings if isinstance(each, Binding) and each.show]
        yield Section(title, tuple((_keys(each), each.description) for each in shown))


def _keys(binding: Binding) -> str:
    return " or ".join(key if len(key) == 1 else key_label(key) for key in binding.key.split(","))
