"""From the table of keys to Textual's bindings, and to what is read of them on the screen.

The table is in `table.py`: a key is added there.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from string import ascii_lowercase
from typing import cast

# The table has no public name, and there is no other place where a terminal's bytes become keys.
from textual._ansi_sequences import ANSI_SEQUENCES_KEYS  # pyright: ignore[reportPrivateUsage]
from textual.binding import Binding, BindingsMap

from cinch_tui.keys.names import key_label
from cinch_tui.keys.table import KEYS
from harness.lazy_dataclass import dataclass

_BY_ID = {key.id: key for key in KEYS}


_UNBOUND = "unbound"
"""A key that nothing sends."""

# A terminal has one person with one set of keys, and hints in every corner name them.
_own: dict[str, str] = {}


def set_user_keys(keys: Mapping[str, str]) -> dict[str, str]:
    """From here on these are the person's keys by their ids, no key where the text is empty; as Textual's keymap."""
    _own.clear()
    _own.update({key_id: text or _UNBOUND for key_id, text in keys.items()})
    return dict(_own)


def user_keys() -> dict[str, str]:
    """The keys that are the person's own, by their ids; an empty text where there is none."""
    return {key_id: keys.replace(_UNBOUND, "") for key_id, keys in _own.items()}


def label_of(key_id: str) -> str:
    """The first key of an id, as the person has it; empty where it has none."""
    first = _own.get(key_id, _BY_ID[key_id].keys).partition(",")[0]
    return "" if first == _UNBOUND else key_label(first)


def hint(*parts: str) -> str:
    """What to press, in short: in each part, as "prompt.submit sends", a key stands where its id does.

    A part is left out where none of its ids has a key.
    """
    return " · ".join(filter(None, map(_hinted, parts)))


def _hinted(part: str) -> str:
    labels = {word: label_of(word) for word in part.split() if word in _BY_ID}
    if labels and not any(labels.values()):
        return ""
    return " ".join(filter(None, (labels.get(word, word) for word in part.split())))


def bindings_for_key(bindings: BindingsMap, key: str) -> Sequence[Binding]:
    """What a widget that runs its bindings itself does at this key, with the keys of the person."""
    if _own:
        bindings = bindings.copy()
        bindings.apply_keymap(_own)
    return bindings.key_to_bindings.get(key, ())


def bindings(owner: str) -> list[Binding]:
    """The bindings of one owner; each calls the action that its id names, or what the table says that it does."""
    return [
        Binding(key.keys, key.action, key.description, show=False, priority=key.priority, id=key.id)
        for key in KEYS
        if key.owner == owner
    ]


@dataclass(frozen=True, slots=True)
class _Chord:
    value: str


# What terminals send after an Esc, for Alt and a key.
_SENT_WITH_ALT = {
    "\r": "enter",
    "\x7f": "backspace",
    "\x08": "backspace",
    **{letter: letter for letter in ascii_lowercase},
}


def recognize_alt_keys() -> None:
    """Tell keys with Alt from those without where the kitty protocol is missing (tmux, screen, xterm).

    Textual reads the bytes of Alt+Enter there as Enter, which would steer a run where a follow-up was meant, and those
    of two keys with Alt, pressed fast, as letters.
    """
    # Textual has members of its own enum of keys there, which has no such chords; it only ever reads their value.
    table = cast("dict[str, tuple[_Chord, ...]]", ANSI_SEQUENCES_KEYS)
    for sent, key in _SENT_WITH_ALT.items():
        table[f"\x1b{sent}"] = (_Chord(f"alt+{key}"),)
