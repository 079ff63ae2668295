"""Settings screen: all settings with value and origin; changes are written to the user's file."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path

from msgspec import Struct
from textual import on, work
from textual.app import ComposeResult
from textual.content import Content
from textual.reactive import var
from textual.widgets import Input, Static

from cinch_tui.config.names import SettingKey, value_of
from cinch_tui.config.settings import Settings
from cinch_tui.config.store import Overview, SettingState, SettingStore, shown_value
from cinch_tui.fuzzy_match import rank_matches
from cinch_tui.keybindings.keymap import bindings, hint
from cinch_tui.rendering.safe_text import one_line
from cinch_tui.screens.dialog import Dialog, stylesheets
from cinch_tui.widgets.item_list import ItemList, ItemRow
from harness.errors import CinchError, ConfigError

_HINT = (
    "Enter settings.previous settings.next change",
    "settings.reset default",
    "settings.open_file file",
    "settings.back closes",
)
_FIELD_HINT = ("Enter saves", "settings.back cancels")
_GROUPS = {
    "model": "Model",
    "providers": "Providers",
    "limits": "Run limits",
    "retry": "Retries",
    "prompt_cache": "Prompt cache",
    "tools": "Tools",
    "approval": "Approval",
    "plan": "Plan mode",
    "steering": "Messages during a run",
    "subagents": "Subagents",
    "sessions": "Sessions",
    "ui": "Interface",
}


class SettingsActions(Struct, frozen=True):
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
    BINDINGS = bindings("settings")

    editing: var[SettingKey | None] = var(None)

    def __init__(self, store: SettingStore, actions: SettingsActions) -> None:
        super().__init__(grace=0)
        self._store = store
        self._actions = actions
        self._lines: Sequence[SettingState | str] = ()
        self._overview: Overview | None = None
        self._finder = Finder(placeholder="find a setting", id="filter", compact=True)
        self._one_at_a_time = asyncio.Lock()
        self._described = ""

    @property
    def key_hints(self) -> tuple[str, ...]:
        return _FIELD_HINT if self.editing else _HINT

    def compose_content(self) -> ComposeResult:
        yield Static(Content.assemble(("Settings", "bold"), f"  {self._store.sources.user_file}"), id="heading")
        yield self._finder
        yield ItemList(id="items")
        yield Static(id="about", markup=False)
        yield Input(id="value", compact=True)
        yield Static(id="message", markup=False)

    def opened(self) -> None:
        self.query_one("#value").display = False
        self._reload()

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        if not super().check_action(action, parameters):
            return False
        match action:
            case "step":
                is_choice = (state := self.current) is not None and state.next_choice(1) is not None
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
        wanted = max(0, min(items.cursor + by, len(self._lines) - 1))
        # Skip titles: use the next setting in the direction, or the previous one at the end.
        places = [at for at, line in enumerate(self._lines) if isinstance(line, SettingState)][:: 1 if by > 0 else -1]
        items.cursor = next((at for at in places if (at - wanted) * by >= 0), places[-1] if places else 0)

    def action_page(self, direction: int) -> None:
        self.action_move(direction * max(1, self.query_one(ItemList).size.height - 1))

    def action_step(self, by: int) -> None:
        if (state := self.current) and (text := state.next_choice(by)) is not None:
            self._change(state.key, text)

    def action_reset(self) -> None:
        if state := self.current:
            self._change(state.key, None)

    def action_back(self) -> None:
        if self.editing is not None:
            self.editing = None
        elif self._finder.value:
            self._finder.value = ""
        else:
            self.answer(None)

    def action_open_file(self) -> None:
        try:
            self._actions.edit(self._store.sources.user_file)
        except CinchError as error:
            self._report(str(error), failed=True)
            return
        before = self._overview
        if self._reload() and before and self._overview:
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
        state = self.current
        if state is None:
            return
        if state.key.name in self._actions.pickers:
            self._pick(state.key)
        elif (text := state.next_choice(1)) is not None:
            self._change(state.key, text)
        else:
            self.query_one("#value", Input).value = state.editable_text
            self.editing = state.key

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
    def describe_setting(self) -> None:
        state = self.current
        name = state.key.name if state else ""
        if name != self._described:
            self._described = name
            self._report("")
        self.query_one("#about", Static).update(about(state) if state else "")

    def watch_editing(self, before: SettingKey | None, editing: SettingKey | None) -> None:
        if before is editing:
            return
        field = self.query_one("#value", Input)
        field.display = editing is not None
        self.show_keys()
        self._report("")
        if editing is None:
            self.focus_first()
        else:
            field.focus()

    @work(group="pick", exclusive=True)
    async def _pick(self, key: SettingKey) -> None:
        chosen = await self._actions.pickers[key.name]()
        if chosen is not None:
            self._change(key, chosen)

    @work(group="settings")
    async def _change(self, key: SettingKey, text: str | None) -> None:
        """Write a value, or remove it with None; then apply it."""
        async with self._one_at_a_time:
            write = partial(self._store.reset, key) if text is None else partial(self._store.set, key, text)
            try:
                await asyncio.to_thread(write)
            except (ValueError, ConfigError) as error:
                self._report(str(error) if isinstance(error, ConfigError) else f"{key.name} {error}", failed=True)
                return
            self.editing = None
            if self._reload():
                self._take_effect(frozenset({key.name}))

    def _take_effect(self, touched: frozenset[str]) -> None:
        """Apply changed settings and report when they take effect."""
        assert self._overview is not None
        states = [each for each in self._overview.states if each.key.name in touched]
        free = [each.key.name for each in states if each.override is None or each.key.kind is tuple]
        try:
            self._actions.apply(self._overview.settings, frozenset(free))
        except CinchError as error:
            self._report(str(error), failed=True)
            return
        self._overview = self._overview.with_session_values(self._actions.live())
        self._show(self.query_one(ItemList).cursor)
        if overridden := [each for each in states if each.override and each.key.name not in free]:
            self._report(f"saved, but overridden here: {overridden[0].value} ({overridden[0].source})")
        elif free:
            times = {each.key.applies for each in states if each.key.name in free}
            self._report(f"saved; applies {times.pop()}" if len(times) == 1 else "saved")

    def _reload(self) -> bool:
        """Reload all files; return False on an error."""
        try:
            self._overview = self._store.read().with_session_values(self._actions.live())
        except ConfigError as error:
            self._overview = None
            self._show(0)
            advice = hint("settings.open_file opens the file.")
            self._report(f"{error}. The previous settings stay in effect.  {advice}", failed=True)
            return False
        self._show(self.query_one(ItemList).cursor)
        self._report("\n".join(self._overview.notices))
        return True

    def _show(self, cursor: int) -> None:
        items, query = self.query_one(ItemList), self._finder.value
        self._lines = lines_of(self._overview.states, query) if self._overview else ()
        if cursor < len(self._lines) and isinstance(self._lines[cursor], str):
            cursor += 1
        items.show(rows_of(self._lines, query), query, cursor)
        self.describe_setting()

    def _report(self, text: str, *, failed: bool = False) -> None:
        message = self.query_one("#message", Static)
        message.set_class(failed, "-failed")
        message.update("\n".join(map(one_line, text.splitlines())))


def lines_of(states: Sequence[SettingState], query: str) -> list[SettingState | str]:
    """Return the settings below group titles, or search results: name matches first, then description matches."""
    if query.strip():
        named = rank_matches(query, [each.key.name for each in states])
        words = query.casefold().split()
        described = [at for at, each in enumerate(states) if all(word in each.key.doc.casefold() for word in words)]
        return [states[at] for at in dict.fromkeys([*named, *described])]
    lines: list[SettingState | str] = []
    group = ""
    for state in states:
        if group != (group := state.key.name.partition(".")[0]):
            lines.append(_GROUPS.get(group, group.capitalize()))
        lines.append(state)
    return lines


def rows_of(lines: Sequence[SettingState | str], query: str) -> list[ItemRow]:
    """Return list rows: name, value and origin. Below group titles a name lacks its group."""
    in_group = not query.strip()
    names = {
        line.key.name: f"  {line.key.name.partition('.')[2]}" if in_group else line.key.name
        for line in lines
        if isinstance(line, SettingState)
    }
    width = max(map(len, names.values()), default=0)
    return [
        ItemRow(line, "", is_title=True)
        if isinstance(line, str)
        else ItemRow(f"{names[line.key.name]:<{width}}  {_value(line)}", one_line(line.source))
        for line in lines
    ]


def _value(state: SettingState) -> str:
    here = f" · now {shown_value(state.session_value)}" if state.session_value is not None else ""
    return one_line(f"{state.value}{here}")


def about(state: SettingState) -> Content:
    """Return the description of a setting: meaning, overrides and choices."""
    return Content("\n").join([Content.assemble(*line) for line in _about(state)])


def _about(state: SettingState) -> Iterator[Sequence[tuple[str, str] | str]]:
    key = state.key
    yield (one_line(key.name), "bold"), f"  {one_line(key.doc)}"
    if state.session_value is not None:
        now = one_line(shown_value(state.session_value))
        yield ((f"now {now} in this session; a change here replaces it", "$text-warning"),)
    if state.override and key.kind is not tuple:
        own = f"; your file sets {one_line(shown_value(state.user_value))}" if state.user_value is not None else ""
        yield ((f"overridden by {one_line(state.override.place)}{own}", "$text-warning"),)
    elif state.override:
        yield (f"{one_line(state.override.place)} adds to the value of your file",)
    elif state.origin:
        yield (f"set in {one_line(state.origin.place)}",)
    if state.is_held_back:
        yield (("also set by the project's file, which is not trusted; see /trust", "$text-warning"),)
    choices = f"{', '.join(key.choices)} · " if key.choices else ""
    yield (f"{choices}default {shown_value(key.default)} · {key.variable} · applies {key.applies}",)
