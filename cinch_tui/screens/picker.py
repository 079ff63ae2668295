"""Picker dialog: a filtered list with one answer."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Generic, TypeVar

from msgspec import Struct
from textual import on
from textual.app import ComposeResult
from textual.content import Content
from textual.widgets import Input, Static

from cinch_tui.fuzzy_match import rank_matches
from cinch_tui.keybindings.keymap import bindings
from cinch_tui.rendering.safe_text import one_line
from cinch_tui.screens.dialog import Dialog, stylesheets
from cinch_tui.widgets.item_list import ItemList, ItemRow

ValueT = TypeVar("ValueT")


class Item(Struct, Generic[ValueT], frozen=True):
    """Entry of a picker. Label and detail are searched."""

    label: str
    """Text on the left."""
    detail: str
    """Text on the right."""
    value: ValueT
    """Answer of the picker."""


class Picker(Dialog[ValueT | None], Generic[ValueT]):
    """Typing filters, Enter picks, Esc answers None.

    Args:
        title: heading.
        items: entries.
        current: value of the entry selected first.
        grace: seconds during which keys go to the prompt; needed if the program opens the picker.
        typed: creates an entry from the filter text. It is offered if nothing else matches, and comes first if its
            label equals the filter and no entry contains it.
    """

    CSS_PATH = stylesheets("picker")
    FIRST_FOCUS = "#filter"
    BINDINGS = bindings("picker")
    KEY_HINTS = ("type to filter", "Enter picks", "picker.cancel cancels")

    def __init__(
        self,
        title: str,
        items: Sequence[Item[ValueT]],
        *,
        current: ValueT | None = None,
        grace: float = 0,
        typed: Callable[[str], Item[ValueT] | None] = lambda _: None,
    ) -> None:
        super().__init__(grace=grace)
        self._heading = title
        self._typed_item = typed
        self.preview: Callable[[ValueT], None] = lambda _: None
        """Called with the value under the cursor."""
        self._note = ""
        self._take_items(items)
        self._shown: list[Item[ValueT]] = list(items)
        self._start = next((index for index, item in enumerate(items) if item.value == current), 0)

    def compose_content(self) -> ComposeResult:
        yield Static(Content.styled(one_line(self._heading), "bold"), id="heading", markup=False)
        yield Input(placeholder="filter", id="filter", compact=True)
        yield ItemList(id="items")
        yield Static("", id="count", markup=False)

    def opened(self) -> None:
        self._show(self._start)

    def refill(self, items: Sequence[Item[ValueT]], note: str = "") -> None:
        """Replace the entries, keeping filter and cursor. `note` is shown next to the count."""
        self._note = note
        self._take_items(items)
        if self._answered or not self._open:
            self._shown = list(items)
            return
        cursor = self.query_one(ItemList).cursor
        value = self._shown[cursor].value if self._shown else None
        self._shown = self._found()
        self._show(next((index for index, item in enumerate(self._shown) if item.value == value), 0))

    @on(Input.Changed, "#filter")
    def filter(self, event: Input.Changed) -> None:
        if event.value or len(self._shown) < len(self._items):
            self._shown = self._found()
            self._show(0)

    @on(Input.Submitted, "#filter")
    def pick(self) -> None:
        self._answer_with(self.query_one(ItemList).cursor)

    @on(ItemList.Clicked)
    def pick_clicked(self, event: ItemList.Clicked) -> None:
        self._answer_with(event.index)

    @on(ItemList.Moved)
    def show_preview(self) -> None:
        if self._shown and not self._answered:
            self.preview(self._shown[self.query_one(ItemList).cursor].value)

    def action_move(self, by: int) -> None:
        self.query_one(ItemList).action_move(by)

    def action_page(self, direction: int) -> None:
        self.query_one(ItemList).action_page(direction)

    def action_cancel(self) -> None:
        self.answer(None)

    def _take_items(self, items: Sequence[Item[ValueT]]) -> None:
        self._items = items
        self._texts = [f"{one_line(item.label)} {one_line(item.detail)}".casefold() for item in items]

    @property
    def _query(self) -> str:
        return self.query_one("#filter", Input).value

    def _found(self) -> list[Item[ValueT]]:
        query = self._query
        found = [self._items[index] for index in rank_matches(query, self._texts)]
        item = self._typed_item(query) if query.strip() else None
        if item is None or any(item.value == other.value for other in found):
            return found
        is_new = item.label == query.strip() and not any(item.label.casefold() in text for text in self._texts)
        return [item, *found] if is_new or not found else found

    def _answer_with(self, place: int) -> None:
        if self._shown:
            self.answer(self._shown[place].value)

    def _show(self, cursor: int) -> None:
        rows = [ItemRow(one_line(item.label), one_line(item.detail)) for item in self._shown]
        self.query_one(ItemList).show(rows, self._query, cursor)
        self.query_one("#count", Static).update(" · ".join(filter(None, (self._count(), one_line(self._note)))))
        self.show_preview()

    def _count(self) -> str:
        if not self._items:
            return "no items"
        if not self._shown:
            return "no matches"
        total = f"{len(self._items):,}"
        return f"{total} items" if len(self._shown) == len(self._items) else f"{len(self._shown):,} of {total}"
