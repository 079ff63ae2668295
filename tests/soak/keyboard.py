"""Bytes that a terminal sends for a key, and all keys that cinch handles."""

from __future__ import annotations

import importlib
import pkgutil

from textual._ansi_sequences import ANSI_SEQUENCES_KEYS
from textual.binding import Binding
from textual.screen import Screen

import cinch_tui.screens
from cinch_tui.keybindings.keymap import KEYS

SPOKEN = {"enter": "\r", "tab": "\t", "escape": "\x1b", "space": " ", "backspace": "\x7f"}
CODES = {"enter": 13, "tab": 9, "escape": 27, "space": 32, "backspace": 127, "minus": 45, "slash": 47, "underscore": 95}
MODIFIERS = {"shift": 1, "alt": 2, "ctrl": 4, "super": 8}

LEAVES = {"app.quit"}
"""Keys that quit are pressed only on purpose."""

STOPS = {"ctrl+c", "ctrl+d"}
"""Keys that quit when pressed twice in an empty prompt."""

LISTS = {"ctrl+p"}
"""The command palette contains the command that quits."""


def _shortest() -> dict[str, str]:
    sequences: dict[str, str] = {}
    for sequence, keys in sorted(ANSI_SEQUENCES_KEYS.items(), key=lambda item: -len(item[0])):
        if isinstance(keys, tuple) and len(keys) == 1:
            sequences[keys[0].value] = sequence
    return sequences


_SEQUENCES = _shortest()


def sent_for(key: str) -> str:
    """Return the bytes of an old terminal if it has the key, else of a modern one."""
    if key in SPOKEN or len(key) == 1:
        return SPOKEN.get(key, key)
    *held, last = key.split("+")
    if held == ["alt"] and (last in SPOKEN or len(last) == 1):
        return "\x1b" + SPOKEN.get(last, last)
    if key in _SEQUENCES:
        return _SEQUENCES[key]
    code = CODES.get(last) or (ord(last) if len(last) == 1 else 0)
    return f"\x1b[{code};{1 + sum(MODIFIERS[name] for name in held)}u" if code else ""


def every_screen() -> list[type[Screen[object]]]:
    """Return the screen classes in `cinch_tui.screens`, base classes included."""
    found: dict[str, type[Screen[object]]] = {}
    for module in pkgutil.walk_packages(cinch_tui.screens.__path__, "cinch_tui.screens."):
        for value in vars(importlib.import_module(module.name)).values():
            if isinstance(value, type) and issubclass(value, Screen) and value.__module__ == module.name:
                found[value.__qualname__] = value
    return [found[name] for name in sorted(found)]


def keys_to_press() -> list[str]:
    """Return every key of the table and of a dialog, except those that quit."""
    keys = {key for entry in KEYS if entry.id not in LEAVES for key in entry.keys.split(",")}
    for screen in every_screen():
        for binding in vars(screen).get("BINDINGS", []):
            if isinstance(binding, Binding):
                keys.update(binding.key.split(","))
    return sorted(key for key in keys - STOPS - LISTS - {"ctrl+q"} if sent_for(key))
