"""Search bar above the prompt."""

from __future__ import annotations

from textual import on
from textual.app import ComposeResult
from textual.containers import Horizontal
from textual.events import Paste
from textual.reactive import var
from textual.widgets import Input, Static

from cinch_tui.data_message import DataMessage
from cinch_tui.keybindings.keymap import bindings, hint

LONGEST = 300
"""Maximum query length in characters, since each key starts a new search."""

KEYS = ("search.earlier search.later", "search.stay stays", "search.back back")


class SearchInput(Input):
    BINDINGS = bindings("search")

    def on_paste(self, event: Paste) -> None:
        event.text = event.text[: LONGEST - len(self.value)]

    def action_earlier(self) -> None:
        self.post_message(SearchBar.Step(-1))

    def action_later(self) -> None:
        self.post_message(SearchBar.Step(1))

    def action_back(self) -> None:
        self.post_message(SearchBar.Left(stay=False))

    def action_stay(self) -> None:
        self.post_message(SearchBar.Left(stay=True))


class SearchBar(Horizontal):
    """Posts the query and displays the result count. Mounted when first opened."""

    DEFAULT_CSS = """
    SearchBar {
        display: none; height: 1; padding: 0 1; background: $surface;
        &.-open { display: block; }
        & > Static { width: auto; color: $foreground-muted; }
        & > #found { padding: 0 1; color: $foreground; }
        & > Input { width: 1fr; min-width: 8; background: $surface; }
    }
    """

    is_open = var(default=False, toggle_class="-open")

    class QueryChanged(DataMessage):
        """Search for this query."""

        query: str

    class Step(DataMessage):
        """Go to the next match below (1) or above (-1)."""

        by: int

    class Left(DataMessage):
        """The search was closed."""

        stay: bool

    def __init__(self) -> None:
        super().__init__()
        self._input = SearchInput(select_on_focus=False, compact=True, max_length=LONGEST)
        self._found = Static(id="found", markup=False)
        self._keys = Static(hint(*KEYS), markup=False)

    def compose(self) -> ComposeResult:
        yield Static("Find ", markup=False)
        yield self._input
        yield self._found
        yield self._keys

    def open(self) -> None:
        """Focus the bar, with the last query selected."""
        self.is_open = True
        self._input.focus()
        self._input.action_select_all()
        self.post_message(self.QueryChanged(self._input.value))

    def close(self) -> None:
        self.is_open = False

    def show_result(self, number: int, total: int, *, is_done: bool) -> None:
        """Show the number of the current match and the total."""
        if not self._input.value.strip():
            text = ""
        elif total:
            text = f"{number:,} of {total:,}"
        else:
            text = "no matches" if is_done else ""
        self._found.update(text if is_done else f"{text} …")

    def on_resize(self) -> None:
        self._keys.display = self.size.width >= 60

    @on(Input.Changed)
    def _changed(self, message: Input.Changed) -> None:
        message.stop()
        if self.is_open:
            self.post_message(self.QueryChanged(message.value))
