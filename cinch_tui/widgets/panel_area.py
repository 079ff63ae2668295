"""Panel area next to or below the transcript: rows of the current panel, titles of all."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, TypeAlias

from cinch_tui.data_message import DataMessage
from cinch_tui.keybindings.keymap import bindings, hint
from cinch_tui.keybindings.prompt_keys import PanelKeys
from cinch_tui.widgets.item_list import ItemList, ItemRow

PanelAction: TypeAlias = Literal["open", "stop", "turn", "next", "previous", "close"]


class PanelArea(ItemList, PanelKeys, can_focus=True, inherit_bindings=False):  # pyright: ignore[reportIncompatibleMethodOverride] - Textual's own classes disagree
    """List of panel rows. It does not interpret them: actions are posted as messages."""

    BINDINGS = bindings("panel")

    class ActionRequested(DataMessage):
        """Perform an action, on the row with this key if it needs one."""

        action: PanelAction
        key: str

    def __init__(self) -> None:
        super().__init__()
        self._empty = ""
        self._keys = ""

    def set_titles(self, titles: Sequence[str], current: int, keys: str) -> None:
        """Show the titles of all panels, the current one, and its keys."""
        marked = (f"[b]‹{title}›[/b]" if place == current else title for place, title in enumerate(titles))
        self.border_title = " ".join(marked)
        self._keys = " · ".join(filter(None, (keys, hint("panel.next next", "panel.leave back"))))
        self._show_keys()

    def watch_has_focus(self, has_focus: bool) -> None:  # noqa: FBT001 - Textual's own way to call it
        super().watch_has_focus(has_focus)
        self._show_keys()

    def _show_keys(self) -> None:
        self.border_subtitle = self._keys if self.has_focus else hint("chat.focus_panel enters", "chat.next_panel next")

    def fill(self, rows: Sequence[ItemRow], empty: str, *, follow: bool) -> None:
        """Show these rows. The cursor stays on its row, or with `follow` at the end if it was there."""
        was_at_end = self.cursor >= len(self._rows) - 1 or not self._rows
        self._empty = "" if rows else empty
        place = len(rows) - 1 if follow and was_at_end else self._place_in(rows)
        self.show(rows or [ItemRow(empty, "")], "", max(0, place))

    def action_do(self, action: PanelAction) -> None:
        if not (self._empty and action in ("open", "stop")):
            self.post_message(self.ActionRequested(action, self._key))

    def on_item_list_clicked(self, message: ItemList.Clicked) -> None:
        message.stop()
        again = message.index == self.cursor and self.has_focus
        self.cursor = message.index
        self.focus()
        if again:
            self.action_do("open")

    @property
    def _key(self) -> str:
        return self._rows[self.cursor].key if self.cursor < len(self._rows) else ""

    def _place_in(self, rows: Sequence[ItemRow]) -> int:
        key = self._key
        return next((place for place, row in enumerate(rows) if key and row.key == key), self.cursor)

    def on_item_list_moved(self, message: ItemList.Moved) -> None:
        message.stop()
