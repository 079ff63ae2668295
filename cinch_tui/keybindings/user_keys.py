"""The user's keys, validated, and key bindings as text. Loads no screen."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from itertools import combinations, groupby
from string import digits

from msgspec import Struct

from cinch_tui.fuzzy_match import did_you_mean
from cinch_tui.keybindings.names import is_printable, key_label, read_key
from cinch_tui.keybindings.table import FIXED, KEYS, PLACES, TYPED_IN, Key, key_scopes, keys_label

NONE = ("", "none")


class KeySetting(Struct, frozen=True):
    """Keys that a file sets for an id, with its position."""

    text: str
    place: str


class UserKeys(Struct):
    """`keys` has the keys, with commas between, for each id that is changed; an empty text where it has none."""

    keys: dict[str, str] = {}
    problems: list[str] = []

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
        own.problems.append(f"{wishes[loser.id].place}: {_conflict_message(loser, other, key)}")
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
    if typed := _key_needed_for_typing(key, wished):
        raise ValueError(f"keys: {keys_label(typed)} inserts text there, {stays}")
    return ",".join(dict.fromkeys(wished))


def _key_needed_for_typing(key: Key, wished: Iterable[str]) -> str:
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


def _conflict_message(loser: Key, other: Key, key: str) -> str:
    free = "" if other.owner in FIXED else f'; give {other.id} another key, or "none", to free it'
    return (
        f"keys: {loser.id} ({loser.description}) cannot be {keys_label(key)}, which is {other.id} "
        f"({other.description}) in the same place, and keeps {loser.label}{free}"
    )


class KeyRow(Struct, frozen=True):
    """A row of the list."""

    label: str
    description: str
    id: str
    default: str = ""
    """The default keys, if the user changed them."""


def rows_of(keys: Iterable[Key], own: Mapping[str, str]) -> list[KeyRow]:
    """Return the rows; bindings that differ only by a number share a row."""
    rows: list[KeyRow] = []
    for (_, own_id), group in groupby(keys, lambda key: (key.id.rstrip(digits), key.id if key.id in own else "")):
        members = list(group)
        first, last = members[0], members[-1]
        ids = first.id if first is last else f"{first.id} … {last.id}"
        keys_of_all = own[own_id] if own_id else ",".join(key.keys for key in members)
        rows.append(KeyRow(keys_label(keys_of_all), first.description, ids, first.label if own_id else ""))
    return rows


def key_list_lines(own: Mapping[str, str]) -> Iterator[str]:
    """Yield every key by place, with its id and description; a star marks the user's keys."""
    for owner, title in PLACES.items():
        rows = rows_of((key for key in KEYS if key.owner == owner), own)
        if rows:
            yield f"\n{title}"
            widths = max(len(row.label) for row in rows), max(len(row.id) for row in rows)
            yield from (_line_of(row, *widths) for row in rows)


def describe_key(name: str, own: Mapping[str, str]) -> Iterator[str]:
    """Yield the actions of a key, with the configuration lines that change them."""
    doing = [key for key in KEYS if name in own.get(key.id, key.keys).split(",")]
    if not doing:
        yield ("a letter: it is typed" if is_printable(name) else f'not bound; to bind it: "ID" = "{key_label(name)}"')
    for key in doing:
        change = "" if key.owner in FIXED else f"   {_change(key, own.get(key.id, key.keys), name)}"
        yield f"{PLACES[key.owner]}: {key.description} ({key.id}){change}"


def _line_of(row: KeyRow, label_width: int, id_width: int) -> str:
    usual = f" (by default {row.default})" if row.default else ""
    return f"{'*' if row.default else ' '} {row.label:<{label_width}}  {row.id:<{id_width}}  {row.description}{usual}"


def _change(key: Key, keys: str, name: str) -> str:
    """Return the configuration line for these keys, with dots for the pressed one."""
    shown = ["…" if each == name else key_label(each) for each in keys.split(",")]
    return f'"{key.id}" = "{", ".join(shown)}"'
