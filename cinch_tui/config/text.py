"""Settings as TOML text: the example file, and the effective settings with their origins."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

from cinch_tui.config.edit import toml_of
from cinch_tui.config.layers import Origin
from cinch_tui.config.names import Key, keys, open_tables

USER_INFO = re.compile(r"://[^/@\s]*@")

HEADER = """\
# Settings of cinch: every key with its default.
# User settings: the file named by `cinch config path`. Project settings: .cinch/config.toml in the project root.
# Environment variables such as CINCH_UI_THEME and command-line flags override both. ${VAR} and ${VAR:-default} in
# strings are replaced by environment variables.
"""


def example_text(*, commented: bool = False) -> str:
    """Return every key with its default and description; `commented`: commented out, as a new user file."""
    mark = "# " if commented else ""

    def lines(key: Key) -> tuple[str, ...]:
        return (f"# {key.doc}", mark + _assignment(key, key.default))

    opened = "".join(f"\n[{name}]\n# {doc}\n# {example}\n" for name, (doc, example) in open_tables().items())
    return HEADER + _in_tables(lines) + opened


def effective_text(origins: Mapping[str, Origin]) -> str:
    """Return every key with its effective value as written, and its origin if it is not a default."""

    def lines(key: Key) -> tuple[str, ...]:
        origin = origins.get(key.name)
        if origin is None:
            return (_assignment(key, key.default),)
        return (f"{_assignment(key, origin.raw)}  # {origin.place}",)

    return (_in_tables(lines) + _in_open_tables(origins)).lstrip()


def _in_open_tables(origins: Mapping[str, Origin]) -> str:
    text = ""
    for table in open_tables():
        inside = {name: origin for name, origin in origins.items() if name.startswith(f"{table}.")}
        text += f"\n[{table}]\n" if inside else ""
        for name, origin in inside.items():
            text += f"{toml_of(name.removeprefix(f'{table}.'))} = {shown_value(origin.raw)}  # {origin.place}\n"
    return text


def _in_tables(lines_of: Callable[[Key], tuple[str, ...]]) -> str:
    text, table = "", ""
    for key in keys().values():
        group = key.name.rpartition(".")[0]
        if group != table:
            table = group
            text += f"\n[{table}]\n"
        text += "\n".join(lines_of(key)) + "\n"
    return text


def _assignment(key: Key, value: object) -> str:
    return f"{key.name.rpartition('.')[2]} = {shown_value(value)}"


def shown_value(value: object) -> str:
    """Return a value as TOML for display, without passwords in URLs."""
    if isinstance(value, list | tuple):
        items: tuple[object, ...] = tuple(value)  # pyright: ignore[reportUnknownArgumentType, reportUnknownVariableType] written by the recursion
        return f"[{', '.join(map(shown_value, items))}]"
    shown = USER_INFO.sub("://…@", value) if isinstance(value, str) else value
    return toml_of(shown)
