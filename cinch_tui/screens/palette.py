"""Command palette: all commands, and keys whose action has no command."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import TypeAlias

from cinch_tui.commands.registry import Registry
from cinch_tui.keybindings.keymap import label_of
from cinch_tui.keybindings.table import KEYS
from cinch_tui.screens.chat import ChatScreen
from cinch_tui.screens.picker import Item, Picker

Run: TypeAlias = Callable[[], object]

KEYS_OF_COMMANDS = {
    "/plan": "chat.toggle_plan",
    "/sessions": "chat.sessions",
    "/context": "chat.context",
    "/editor": "prompt.open_editor",
    "/paste": "prompt.paste",
    "/quit": "app.quit",
}
"""Key id of each command that also has a key."""

WITHOUT_COMMAND = (
    "chat.help",
    "chat.search",
    "chat.toggle_channels",
    "chat.next_approval",
    "chat.next_model",
    "chat.next_colours",
    "chat.next_panel",
    "chat.page_transcript",
)
"""Ids of keys whose action has no command."""


class Palette(Picker[Run]):
    """Returns the action to run."""

    def __init__(self, items: list[Item[Run]]) -> None:
        super().__init__("Commands", items)


def palette(chat: ChatScreen, registry: Registry, screenshot: Run) -> Palette:
    """Return the palette. A command with a required argument is inserted into the prompt."""
    return Palette([*_commands(chat, registry), *_actions(chat), Item("Screenshot", "save a screenshot", screenshot)])


def _commands(chat: ChatScreen, registry: Registry) -> Iterator[Item[Run]]:
    for command in registry.commands:
        begin = partial(chat.prompt.insert, f"{command.name} ")
        run = begin if "<" in command.usage else partial(chat.process_input, command.name)
        yield Item(command.usage, _with_key(command.summary, KEYS_OF_COMMANDS.get(command.name, "")), run)


def _actions(chat: ChatScreen) -> Iterator[Item[Run]]:
    by_id = {key.id: key for key in KEYS}
    for key_id in WITHOUT_COMMAND:
        key = by_id[key_id]
        run = partial(chat.call_later, chat.run_action, key.action)
        yield Item(key.action.replace("_", " ").capitalize(), _with_key(key.description, key_id), run)


def _with_key(summary: str, key_id: str) -> str:
    label = label_of(key_id) if key_id else ""
    return f"{label} · {summary}" if label else summary
