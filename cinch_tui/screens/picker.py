"""The one picker: a list, a filter, one answer."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Generic, TypeVar

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.content import Content
from textual.widgets import Input, Static

from cinch_tui.matching import ranked
from cinch_tui.screens.dialog import Dialog, stylesheets
from cinch_tui.transcript.plain import one_line
from cinch_tui.widgets.item_list import ItemList, ItemRow

ValueT = TypeVar("ValueT")


@dataclass(frozen=True, slots=True)
class Item(Generic[ValueT]):
    """A line to pick: `label` on the left, `detail` on the right, both searched; `value` is what comes back."""

    label: str
    detail: str
    value: ValueT


class Picker(Dialog[ValueT | None], Generic[ValueT]):
    """Picks one of many. Typing filters, Enter picks, Esc answers None. `current` is where the cursor starts.

    Most are opened by the person, who is not typing a prompt at that moment; one that comes by itself has a `grace`.
    """

    CSS_PATH = stylesheets("picker")
    FIRST_FOCUS = "#filter"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("up", "move(-1)", "Up", priority=True, show=False, id="picker.up"),
        Binding("down", "move(1)", "Down", priority=True, show=False, id="picker.down"),
        Binding("pageup", "page(-1)", "Page up", priority=True, show=False, id="picker.page-up"),
        Binding("pagedown", "page(1)", "Page down", priority=True, show=False, id="picker.page-down"),
        Binding("ctrl+home", "move(-1000000)", "First", priority=True, show=False, id="picker.first"),
        Binding("ctrl+end", "move(1000000)", "Last", priority=True, show=False, id="picker.last"),
        Binding("escape", "cancel", "Cancel", id="picker.cancel"),
    ]

    def __init__(
        self, title: str, items: Sequence[Item[ValueT]], *, current: ValueT | None = None, grace: float = 0
    ) -> None:
        super().__init__(grace=grace)
        self._heading = title
        self._items = items
        self._rows = [ItemRow(one_line(item.label), one_line(item.detail)) for item in items]
        self._texts = [f"{row.label} {row.detail}".casefold() for row in self._rows]
        self._shown: list[int] = list(range(len(items)))
        self._start = next((index for index, item in enumerate(items) if item.value == current), 0)

    def compose(self) -> ComposeResult:
        with Vertical(id="dialog") as dialog:
            dialog.border_subtitle = "type to filter · Enter picks · Esc cancels"
            yield Static(Content.assemble((one_line(self._heading), "bold")), id="heading", markup=False)
            yield Input(placeholder="filter", id="filter", compact=True)
            yield ItemList(id="items")
            yield Static("", id="count", markup=False)

    def opened(self) -> None:
        self._show("", self._start)

    @on(Input.Changed, "#filter")
    def filter(self, event: Input.Changed) -> None:
        if event.value or len(self._shown) < len(self._rows):
            self._shown = ranked(event.value, self._texts)
            self._show(event.value, 0)

    @on(Input.Submitted, "#filter")
    def pick(self) -> None:
        self._answer_with(self.query_one(ItemList).cursor)

    @on(ItemList.Clicked)
    def pick_clicked(self, event: ItemList.Clicked) -> None:
        self._answer_with(event.index)

    def action_move(self, by: int) -> None:
        self.query_one(ItemList).move(by)

    def action_page(self, direction: int) -> None:
        items = self.query_one(ItemList)
        items.move(direction * max(1, items.size.height - 1))

    def action_cancel(self) -> None:
        self.answer(None)

    def _answer_with(self, place: int) -> None:
        if self._shown:
            self.answer(self._items[self._shown[place]].value)

    def _show(self, query: str, cursor: int) -> None:
        self.query_one(ItemList).show([self._rows[index] for index in self._shown], query, cursor)
        self.query_one("#count", Static).update(self._count())

    def _count(self) -> str:
        if not self._rows:
            return "there is nothing to pick"
        if not self._shown:
            return "nothing matches"
        total = f"{len(self._rows):,}"
        return f"{total} in all" if len(self._shown) == len(self._rows) else f"{len(self._shown):,} of {total}"
