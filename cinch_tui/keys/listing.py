"""Key bindings as text: the list of all, and the actions of one key."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from itertools import groupby
from string import digits

from cinch_tui.keys.names import is_printable, key_label
from cinch_tui.keys.table import FIXED, KEYS, PLACES, Key, keys_label
from harness.lazy_dataclass import dataclass


@dataclass(frozen=True, slots=True)
class KeyRow:
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
