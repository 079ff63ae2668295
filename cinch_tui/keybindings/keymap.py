"""Textual bindings and on-screen hints, made from the table in `table.py`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from string import ascii_lowercase
from typing import cast

from msgspec import Struct

# The only place where Textual maps a terminal's bytes to keys; it has no public name.
from textual._ansi_sequences import ANSI_SEQUENCES_KEYS  # pyright: ignore[reportPrivateUsage]
from textual.binding import Binding, BindingsMap, BindingType

from cinch_tui.keybindings.names import key_label
from cinch_tui.keybindings.table import KEYS

_BY_ID = {key.id: key for key in KEYS}


_UNBOUND = "unbound"
"""A key that no terminal sends."""

# Global, since a process has one user and hints everywhere show the keys.
_own: dict[str, str] = {}


def set_user_keys(keys: Mapping[str, str]) -> dict[str, str]:
    """Set the user's keys by id, an empty text for no key; return them as a Textual keymap."""
    _own.clear()
    _own.update({key_id: text or _UNBOUND for key_id, text in keys.items()})
    return dict(_own)


def user_keys() -> dict[str, str]:
    """Return the user's keys by id; an empty text for no key."""
    return {key_id: keys.replace(_UNBOUND, "") for key_id, keys in _own.items()}


def label_of(key_id: str) -> str:
    """Return the label of the first key of an id; empty if it has none."""
    first = _own.get(key_id, _BY_ID[key_id].keys).partition(",")[0]
    return "" if first == _UNBOUND else key_label(first)


def hint(*parts: str) -> str:
    """Return a short hint; in each part, such as "prompt.submit sends", an id is replaced by its key.

    A part is left out if none of its ids has a key.
    """
    return " · ".join(filter(None, map(_hinted, parts)))


def _hinted(part: str) -> str:
    labels = {word: label_of(word) for word in part.split() if word in _BY_ID}
    if labels and not any(labels.values()):
        return ""
    return " ".join(filter(None, (labels.get(word, word) for word in part.split())))


def bindings_for_key(bindings: BindingsMap, key: str) -> Sequence[Binding]:
    """Return the bindings of a key, with the user's keys, for a widget that runs its bindings itself."""
    if _own:
        bindings = bindings.copy()
        bindings.apply_keymap(_own)
    return bindings.key_to_bindings.get(key, ())


def bindings(*owners: str) -> list[BindingType]:
    """Return the bindings of these owners; the action is the rest of the id unless the table gives a call."""
    return [
        Binding(key.keys, key.action, key.description, show=False, priority=key.priority, id=key.id)
        for key in KEYS
        if key.owner in owners
    ]


class _Chord(Struct, frozen=True):
    value: str


# Bytes that terminals send after Esc for Alt and a key.
_SENT_WITH_ALT = {
    "\r": "enter",
    "\x7f": "backspace",
    "\x08": "backspace",
    **{letter: letter for letter in ascii_lowercase},
}


def recognize_alt_keys() -> None:
    """Recognize keys with Alt in terminals without the kitty keyboard protocol (tmux, screen, xterm).

    Textual reads the bytes of Alt+Enter as Enter there, which would steer a run instead of queueing a follow-up, and
    two keys with Alt, pressed fast, as letters.
    """
    # Textual's table contains members of its enum of keys, which lacks these; only their value is read.
    table = cast("dict[str, tuple[_Chord, ...]]", ANSI_SEQUENCES_KEYS)
    for sent, key in _SENT_WITH_ALT.items():
        table[f"\x1b{sent}"] = (_Chord(f"alt+{key}"),)
