"""Pickers of commands (the palette) and of sessions."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import TypeAlias

from textual.app import App

from cinch_tui.commands.registry import Registry
from cinch_tui.keybindings.keymap import label_of
from cinch_tui.keybindings.table import KEYS
from cinch_tui.reports.formatting import ago, open_state
from cinch_tui.screens.chat import ChatScreen
from cinch_tui.screens.picker import Item, Picker
from harness.session.index import SessionSummary, list_sessions

Run: TypeAlias = Callable[[], object]

KEYS_OF_COMMANDS = {
    "/plan": "chat.toggle_plan",
    "/resume": "chat.sessions",
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


async def pick_session(app: App[object], data_dir: Path, cwd: Path, current: str = "") -> str | None:
    """Let the user pick a session of this folder; return its id or None. Call it in a worker.

    Args:
        app: the app.
        data_dir: directory of all sessions.
        cwd: folder of the sessions.
        current: id of the open session.
    """
    summaries = await asyncio.to_thread(list_sessions, data_dir, cwd)
    return await app.push_screen_wait(SessionPicker(summaries, now=time.time(), current=current))


class SessionPicker(Picker[str]):
    """Sessions in the given order: title on the left, last use on the right."""

    def __init__(self, summaries: Sequence[SessionSummary], *, now: float, current: str = "") -> None:
        super().__init__("Which session?", [_item(summary, now, current) for summary in summaries])


def _item(summary: SessionSummary, now: float, current: str) -> Item[str]:
    named = summary.first_prompt and summary.title != summary.first_prompt
    label = f"{summary.title} · {summary.first_prompt}" if named else summary.title
    details = [ago(summary.updated, now), summary.branch, open_state(summary, current)]
    return Item(label, " · ".join(filter(None, details)), summary.id)
