"""Help: keys and commands as a screen, and as a panel next to the transcript."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from msgspec import Struct
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text
from textual import on
from textual.app import ComposeResult
from textual.containers import VerticalScroll
from textual.content import Content
from textual.reactive import var
from textual.screen import Screen
from textual.widgets import Input, Static

from cinch_tui.commands.builtin import builtin_commands
from cinch_tui.keybindings.keymap import bindings, hint, label_of, user_keys
from cinch_tui.keybindings.table import KEYS, PLACES
from cinch_tui.screens.dialog import Dialog, stylesheets

_TYPED = (
    ("@", "attach a file or folder of the project"),
    ("!", "run a shell command; its output is sent with your next prompt (!! keeps it private)"),
    ("/", "run a command; Tab completes it"),
)
_PRESSED = (
    (("prompt.submit",), "send; during a run: steer the agent"),
    (("prompt.follow_up",), "queue a follow-up message for the end of the run"),
    (("chat.abort",), "stop the agent"),
    (("approval.once", "approval.deny"), "allow or deny a call"),
    (("chat.toggle_plan",), "plan mode on or off: read-only until you accept a plan"),
    (("chat.leave",), "twice in an empty prompt: quit"),
)
WIDTH = 36
MIN_TRANSCRIPT_WIDTH = 84
"""Minimum width of the transcript; on narrower terminals help is a full screen."""


class Section(Struct, frozen=True):
    """Titled rows of key or command, and description."""

    title: str
    rows: tuple[tuple[str, str], ...]

    def narrowed(self, words: Sequence[str]) -> Section:
        """Return the rows that contain all words, or all rows if the title does."""
        if _has(self.title, words):
            return self
        return Section(self.title, tuple(row for row in self.rows if _has(" ".join(row), words)))


def _has(text: str, words: Sequence[str]) -> bool:
    folded = text.casefold()
    return all(word in folded for word in words)


class HelpScreen(Dialog[None]):
    """Scrollable, searchable help."""

    CSS_PATH = stylesheets("help")
    SCROLLED = "#sections"
    BINDINGS = bindings("help")
    KEY_HINTS = ("↑ ↓ PgUp PgDn scroll", "help.find finds", "help.close closes")

    finding = var(default=False, toggle_class="-finding")

    def __init__(self, sections: Sequence[Section]) -> None:
        super().__init__(grace=0, frame_title="Help")
        self._sections = sections

    def compose_content(self) -> ComposeResult:
        yield Input(placeholder="find a key or a command", id="find", compact=True)
        with VerticalScroll(id="sections"):
            yield Static(Group(*_parts(self._sections)), id="rows", markup=False)

    def focus_first(self) -> None:
        self.query_one("#find" if self.finding else "#sections").focus()

    def action_find(self) -> None:
        self.finding = True
        self.focus_first()

    def action_close(self) -> None:
        """Clear the search first, then close."""
        if self.finding:
            self.finding = False
            self.query_one("#find", Input).value = ""
            self.focus_first()
        else:
            self.answer(None)

    @on(Input.Changed, "#find")
    def find(self, event: Input.Changed) -> None:
        words = event.value.casefold().split()
        found = [section.narrowed(words) for section in self._sections]
        self.query_one("#rows", Static).update(Group(*_parts([section for section in found if section.rows])))
        self.query_one("#sections").scroll_home(animate=False)

    @on(Input.Submitted, "#find")
    def read(self) -> None:
        """Focus the results."""
        self.query_one("#sections").focus()


def _parts(sections: Sequence[Section]) -> Iterator[RenderableType]:
    for number, section in enumerate(sections):
        yield Text(f"\n{section.title}" if number else section.title, style="bold underline")
        table = Table.grid(padding=(0, 2), expand=True)
        table.add_column(ratio=2)
        table.add_column(ratio=3)
        for left, right in section.rows:
            table.add_row(Text(left, style="bold"), Text(right))
        yield table
    if not sections:
        yield Text("no matches")


def help_screen() -> HelpScreen:
    """Return the help screen: essentials, all keys with the user's bindings, and all commands."""
    from cinch_tui.keybindings.user_keys import rows_of

    own = user_keys()
    keys = (
        Section(
            title,
            tuple((row.label, row.description) for row in rows_of((key for key in KEYS if key.owner == owner), own)),
        )
        for owner, title in PLACES.items()
    )
    families = (
        Section(group.title, tuple((command.usage, command.summary) for command in group.commands))
        for group in builtin_commands().groups
    )
    first = Section("The essentials", tuple(_essentials()))
    return HelpScreen([first, *(section for section in keys if section.rows), *families])


def _essentials() -> Iterator[tuple[str, str]]:
    """Yield the most important inputs and keys with their descriptions."""
    yield from _TYPED
    for ids, description in _PRESSED:
        if label := " / ".join(filter(None, map(label_of, ids))):
            yield label, description


class HelpPanel(VerticalScroll, can_focus=False):
    """Commands and keys; the prompt stays focused.

    Hidden while the terminal is too narrow.
    """

    SCOPED_CSS = False
    DEFAULT_CSS = """
    HelpPanel {
        dock: right; width: 36; height: 100%; padding: 0 1; border-left: vkey $foreground 40%; background: $surface;
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
    if screen.size.width < WIDTH + MIN_TRANSCRIPT_WIDTH:
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
