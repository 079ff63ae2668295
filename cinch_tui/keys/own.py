"""Validation of the user's keys.

An invalid key is reported and ignored and the default applies, so that a mistake in the file does no harm.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import field
from itertools import combinations

from cinch_tui.fuzzy_match import did_you_mean
from cinch_tui.keys.names import is_printable, read_key
from cinch_tui.keys.table import FIXED, KEYS, TYPED_IN, Key, key_scopes, keys_label
from harness.lazy_dataclass import dataclass

NONE = ("", "none")


@dataclass(frozen=True, slots=True)
class KeySetting:
    """Keys that a file sets for an id, with its position."""

    text: str
    place: str


@dataclass(slots=True)
class UserKeys:
    """`keys` has the keys, with commas between, for each id that is changed; an empty text where it has none."""

    keys: dict[str, str] = field(default_factory=dict[str, str])
    problems: list[str] = field(default_factory=list[str])

    def keys_of(self, key: Key) -> str:
        return self.keys.get(key.id, key.keys)


def resolve_user_keys(wishes: Mapping[str, KeySetting]) -> UserKeys:
    """Return the valid keys by id, and the problems of the others."""
    own, known = UserKeys(), {key.id: key for key in KEYS}
    for name, wish in wishes.items():
        try:
            own.keys[name] = _read(name, wish.text, known)
        except ValueError as error:
            own.problems.append(f"{wish.place}: {error}")
    while found := next(_conflicts(own), None):
        loser, other, key = found
        own.problems.append(f"{wishes[loser.id].place}: {_told(loser, other, key)}")
        del own.keys[loser.id]
    return own


def _read(name: str, text: str, known: Mapping[str, Key]) -> str:
    """The keys that are wished for.

    Raises:
        ValueError: there is no such id, or it cannot have these keys; the text says why.
    """
    key = known.get(name)
    if key is None:
        raise ValueError(f"keys: unknown id {name!r}{did_you_mean(name, known)}")
    stays = f"and {name} ({key.description}) keeps {key.label}"
    if key.owner in FIXED:
        raise ValueError(f"keys: {name} cannot be changed")
    if text.strip().lower() in NONE:
        if key.required:
            raise ValueError(f"keys: {name} needs a key, {stays}")
        return ""
    try:
        wished = [read_key(each) for each in text.split(",")]
    except ValueError as error:
        raise ValueError(f"keys: {error}, {stays}") from error
    if typed := _in_the_way_of_typing(key, wished):
        raise ValueError(f"keys: {keys_label(typed)} inserts text there, {stays}")
    return ",".join(dict.fromkeys(wished))


def _in_the_way_of_typing(key: Key, wished: Iterable[str]) -> str:
    """Return a key that would make typing impossible, if there is one."""
    typed = [each for each in wished if is_printable(each)]
    if key.owner in TYPED_IN or key.priority:
        return next(iter(typed), "")
    # In a field of a dialog a letter is written: it must be left by another key.
    return typed[0] if key.required and len(typed) == len(list(wished)) else ""


def _conflicts(own: UserKeys) -> Iterator[tuple[Key, Key, str]]:
    """Yield conflicts: the user's key, the key with the same binding in the same place, and the binding."""
    for chain in key_scopes():
        for one, two in combinations(chain, 2):
            if one.id not in own.keys and two.id not in own.keys:
                continue
            shared = _keys(own.keys_of(one)) & _keys(own.keys_of(two))
            # What is layered by design, as Esc that closes a popup and then stops, may be layered on another key.
            if shared and not _keys(one.keys) & _keys(two.keys):
                # Of two wishes the later one is left out.
                order = [each for each in own.keys if each in (one.id, two.id)]
                loser, other = (one, two) if order[-1] == one.id else (two, one)
                yield loser, other, min(shared)


def _keys(keys: str) -> set[str]:
    return set(keys.split(",")) - {""}


def _told(loser: Key, other: Key, key: str) -> str:
    free = "" if other.owner in FIXED else f'; give {other.id} another key, or "none", to free it'
    return (
        f"keys: {loser.id} ({loser.description}) cannot be {keys_label(key)}, which is {other.id} "
        f"({other.description}) in the same place, and keeps {loser.label}{free}"
    )
