"""Settings screen: all settings with value and origin; changes are written to the user's file."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from pathlib import Path
from typing import ClassVar

from textual import on, work
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Vertical
from textual.content import Content
from textual.reactive import var
from textual.widgets import Input, Static

from cinch_tui.config.names import Key, effect_time, value_of
from cinch_tui.config.settings import Settings
from cinch_tui.config.store import Overview, SettingState, SettingStore
from cinch_tui.keybindings.keymap import bindings, hint
from cinch_tui.rendering.safe_text import one_line
from cinch_tui.screens.dialog import Dialog, stylesheets
from cinch_tui.screens.settings_text import about, lines_of, rows_of
from cinch_tui.widgets.item_list import ItemList
from harness.errors import CinchError, ConfigError
from harness.lazy_dataclass import dataclass

_HINT = (
    "Enter settings.previous settings.next change",
    "settings.reset default",
    "settings.open_file file",
    "settings.back closes",
)
_FIELD_HINT = ("Enter saves", "settings.back cancels")


@dataclass(frozen=True, slots=True)
class Hands:
    """Callbacks of the settings screen. `apply` and `edit` raise `CinchError`."""

    apply: Callable[[Settings, frozenset[str]], None]
    """Apply changed settings to this session; the names of the changed ones."""
    edit: Callable[[Path], None]
    """Open the file in an editor."""
    pickers: Mapping[str, Callable[[], Awaitable[str | None]]]
    """Dialogs for settings that are picked from a list, by name."""
    live: Callable[[], Mapping[str, object]]
    """Return the values in effect in this session that differ from the files."""


class Finder(Input):
    """Search field; while it is empty, Space is a key of the list."""

    is_searching = False

    def check_consume_key(self, key: str, character: str | None) -> bool:
        return (self.is_searching or character != " ") and super().check_consume_key(key, character)


class SettingsScreen(Dialog[None]):
    """Typing searches; outside of a search, Space and the arrows change settings with choices."""

    CSS_PATH = stylesheets("settings")
    FIRST_FOCUS = "#filter"
    BINDINGS: ClassVar[list[BindingType]] = [*bindings("settings")]

    editing: var[Key | None] = var(None)

    def __init__(self, store: SettingStore, hands: Hands) -> None:
        super().__init__(grace=0)
        self._store = store
        self._hands = hands
        self._lines: Sequence[SettingState | str] = ()
        self._overview: Overview | None = None
        self._finder = Finder(placeholder="find a setting", id="filter", compact=True)
        self._one_at_a_time = asyncio.Lock()
        self._told_about = ""

    def compose(self) -> ComposeResult:
        with Vertical(id="dialog") as dialog:
            dialog.border_subtitle = hint(*_HINT)
            yield Static(Content.assemble(("Settings", "bold"), f"  {self._store.sources.user_file}"), id="heading")
            yield self._finder
            yield ItemList(id="items")
            yield Static(id="about", markup=False)
            yield Input(id="value", compact=True)
            yield Static(id="message", markup=False)

    def opened(self) -> None:
        self.query_one("#value").display = False
        self._look_again()

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        if not super().check_action(action, parameters):
            return False
        match action:
            case "step":
                is_choice = (standing := self.current) is not None and standing.next_choice(1) is not None
                return self.editing is None and not self._finder.is_searching and is_choice
            case "move" | "page" | "reset" | "open_file":
                return self.editing is None
            case _:
                return True

    @property
    def current(self) -> SettingState | None:
        """Return the setting under the cursor."""
        items = self.query(ItemList)
        line = self._lines[items.first().cursor] if items and self._lines else ""
        return line if isinstance(line, SettingState) else None

    def action_move(self, by: int) -> None:
        self._finder.is_searching = False
        items = self.query_one(ItemList)
        if not self._lines:
            return
        wanted = max(0, min(items.cursor + by, len(self._lines) - 1))
        # Skip titles: use the next setting in the direction, or the previous one at the end.
        beyond = range(wanted, len(self._lines)) if by > 0 else range(wanted, -1, -1)
        back = range(wanted, -1, -1) if by > 0 else range(wanted, len(self._lines))
        settings = (at for places in (beyond, back) for at in places if isinstance(self._lines[at], SettingState))
        items.cursor = next(settings, 0)

    def action_page(self, direction: int) -> None:
        self.action_move(direction * max(1, self.query_one(ItemList).size.height - 1))

    def action_step(self, by: int) -> None:
        if (standing := self.current) and (text := standing.next_choice(by)) is not None:
            self._change(standing.key, text)

    def action_reset(self) -> None:
        if standing := self.current:
            self._change(standing.key, None)

    def action_back(self) -> None:
        if self.editing is not None:
            self.editing = None
        elif self._finder.value:
            self._finder.value = ""
        else:
            self.answer(None)

    def action_open_file(self) -> None:
        try:
            self._hands.edit(self._store.sources.user_file)
        except CinchError as error:
            self._tell(str(error), failed=True)
            return
        before = self._overview
        if self._look_again() and before and self._overview:
            now = self._overview.settings
            names = [each.key.name for each in before.states]
            changed = [name for name in names if value_of(before.settings, name) != value_of(now, name)]
            self._take_effect(frozenset(changed))

    @on(Input.Changed, "#filter")
    def find(self, event: Input.Changed) -> None:
        self._finder.is_searching = bool(event.value.strip())
        self._show(0)

    @on(Input.Submitted, "#filter")
    def change(self) -> None:
        standing = self.current
        if standing is None:
            return
        if standing.key.name in self._hands.pickers:
            self._pick(standing.key)
        elif (text := standing.next_choice(1)) is not None:
            self._change(standing.key, text)
        else:
            self.query_one("#value", Input).value = standing.editable_text
            self.editing = standing.key

    @on(Input.Submitted, "#value")
    def take_value(self, event: Input.Submitted) -> None:
        if self.editing is not None:
            self._change(self.editing, event.value)

    @on(ItemList.Clicked)
    def click(self, event: ItemList.Clicked) -> None:
        items = self.query_one(ItemList)
        is_again, self._finder.is_searching = items.cursor == event.index, False
        if self.editing is None and isinstance(self._lines[event.index], SettingState):
            items.cursor = event.index
            if is_again:
                self.change()

    @on(ItemList.Moved)
    def tell_about(self) -> None:
        standing = self.current
        name = standing.key.name if standing else ""
        if name != self._told_about:
            self._told_about = name
            self._tell("")
        self.query_one("#about", Static).update(about(standing) if standing else "")

    def watch_editing(self, before: Key | None, editing: Key | None) -> None:
        if before is editing:
            return
        field = self.query_one("#value", Input)
        field.display = editing is not None
        self.query_one("#dialog").border_subtitle = hint(*(_FIELD_HINT if editing else _HINT))
        self._tell("")
        if editing is None:
            self.focus_first()
        else:
            field.focus()

    @work(group="pick", exclusive=True)
    async def _pick(self, key: Key) -> None:
        chosen = await self._hands.pickers[key.name]()
        if chosen is not None:
            self._change(key, chosen)

    @work(group="settings")
    async def _change(self, key: Key, text: str | None) -> None:
        """Write a value, or remove it with None; then apply it."""
        async with self._one_at_a_time:
            try:
                if text is None:
                    await asyncio.to_thread(self._store.reset, key)
                else:
                    await asyncio.to_thread(self._store.set, key, text)
            except ValueError as error:
                self._tell(f"{key.name} {error}", failed=True)
                return
            except ConfigError as error:
                self._tell(str(error), failed=True)
                return
            self.editing = None
            if self._look_again():
                self._take_effect(frozenset({key.name}))

    def _take_effect(self, touched: frozenset[str]) -> None:
        """Apply changed settings and report when they take effect."""
        assert self._overview is not None
        standings = [each for each in self._overview.states if each.key.name in touched]
        free = [each.key.name for each in standings if each.override is None or each.key.kind is tuple]
        try:
            self._hands.apply(self._overview.settings, frozenset(free))
        except CinchError as error:
            self._tell(str(error), failed=True)
            return
        self._overview = self._overview.with_session_values(self._hands.live())
        self._show(self.query_one(ItemList).cursor)
        if held := [each for each in standings if each.override and each.key.name not in free]:
            self._tell(f"saved, but overridden here: {held[0].value} ({held[0].source})")
        elif free:
            times = {effect_time(name) for name in free}
            self._tell(f"saved; applies {times.pop()}" if len(times) == 1 else "saved")

    def _look_again(self) -> bool:
        """Reload all files; return False on an error."""
        try:
            self._overview = self._store.read().with_session_values(self._hands.live())
        except ConfigError as error:
            self._overview = None
            self._show(0)
            self._tell(
                f"{error}. The previous settings stay in effect.  {hint('settings.open_file opens the file.')}",
                failed=True,
            )
            return False
        self._show(self.query_one(ItemList).cursor)
        self._tell("\n".join(self._overview.notices))
        return True

    def _show(self, cursor: int) -> None:
        items, query = self.query_one(ItemList), self._finder.value
        self._lines = lines_of(self._overview.states, query) if self._overview else ()
        if cursor < len(self._lines) and isinstance(self._lines[cursor], str):
            cursor += 1
        items.show(rows_of(self._lines, query), query, cursor)
        self.tell_about()

    def _tell(self, text: str, *, failed: bool = False) -> None:
        message = self.query_one("#message", Static)
        message.set_class(failed, "-failed")
        message.update("\n".join(map(one_line, text.splitlines())))
