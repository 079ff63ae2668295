"""Table of all key bindings: the source of Textual's bindings, the help and the documentation. Loads no screen.

The rows are in `keys.json`. The part of an id before the dot is the owner. Ids are stable, since users' configuration
files contain them.
"""

from __future__ import annotations

from pathlib import Path

import msgspec
from msgspec import Struct

from cinch_tui.keybindings.names import key_label


class Key(Struct, frozen=True, forbid_unknown_fields=True):
    """A key binding."""

    id: str
    keys: str
    """Keys as Textual spells them, separated by commas."""

    description: str
    call: str = ""
    """The action with its parameters, such as `scroll('up')`, if it is not the rest of the id."""

    priority: bool = False
    """True to take precedence over the focused widget, also over a field that uses the key."""

    required: bool = False
    """True if the user could not continue without this key, so that it cannot be removed."""

    @property
    def owner(self) -> str:
        return self.id.partition(".")[0]

    @property
    def action(self) -> str:
        return self.call or self.id.partition(".")[2]

    @property
    def label(self) -> str:
        return keys_label(self.keys)


def keys_label(keys: str) -> str:
    """Return the label of keys; several digits are shown as a range."""
    if not keys:
        return "no key"
    *others, last = (key_label(key) for key in keys.split(","))
    if others and all(label.isdecimal() for label in (*others, last)):
        return f"{others[0]} to {last}"
    return f"{', '.join(others)} or {last}" if others else last


class Place(Struct, frozen=True):
    """A place with keys of its own: the owner of these keys."""

    title: str
    keys: tuple[Key, ...]


# JSON, since msgspec reads it faster than Python runs as many constructors at each start.
_TABLE = msgspec.json.decode(Path(__file__).with_name("keys.json").read_bytes(), type=dict[str, Place])

PLACES = {owner: place.title for owner, place in _TABLE.items()}
"""Owners with their place, in the order of the help."""

KEYS = tuple(key for place in _TABLE.values() for key in place.keys)

FIXED = ("list",)
"""Owners whose keys cannot be changed, since Textual defines them."""

TYPED_IN = ("prompt", "line", "chat", "search", "app", "picker", "sessions", "key_entry", *FIXED)
"""Owners that are active while the user types text."""

_SCOPES: tuple[tuple[str, ...], ...] = (
    ("line", "prompt", "chat", "app"),
    ("transcript", "chat", "app"),
    ("search", "chat", "app"),
    ("tools", "chat", "app"),
    ("queue", "chat", "app"),
    ("panel", "chat", "app"),
    ("review", "view", "approval", "answers", "docked", "dialog"),
    ("review", "view", "changes", "list", "dialog"),
    ("question", "list", "docked", "dialog"),
    ("plan", "answers", "docked", "dialog"),
    ("confirmation", "answers", "dialog"),
    ("trust", "short_list", "list", "dialog"),
    ("welcome", "list", "dialog"),
)


def key_scopes() -> list[list[Key]]:
    """Return the keys that are active in the same place, place by place."""
    named = {owner for chain in _SCOPES for owner in chain}
    others = dict.fromkeys(key.owner for key in KEYS if key.owner not in named)
    everywhere = [key for key in KEYS if key.owner == "app" and key.priority]
    places = [*_SCOPES, *((owner, "dialog") for owner in others if owner not in FIXED)]
    return [[key for key in KEYS if key.owner in place] + ([] if "app" in place else everywhere) for place in places]
