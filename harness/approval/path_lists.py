"""Lists of paths that need approval: secrets, which are not read, and protected paths, which are not changed, unasked.

The lists are in `paths.toml`. All functions but `is_system_folder` take the path by which a file is known to the
user: relative to the workspace if it is inside, else absolute.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from msgspec import Struct

if TYPE_CHECKING:
    from re import Pattern


class _PathList(Struct, frozen=True):
    """Patterns of paths."""

    expression: Pattern[str]

    def __contains__(self, path: str) -> bool:
        return self.expression.search(path) is not None


class _Lists(Struct, frozen=True):
    secret: _PathList
    public: _PathList
    """Exceptions from `secret`."""
    published: frozenset[str]
    """Folders that a search does not look for secrets in."""
    protected: tuple[tuple[str, _PathList], ...]
    """Reasons with the paths that have them."""
    any_protected: _PathList
    system: Pattern[str]


def is_secret(path: str) -> bool:
    """Return True if a file probably holds a secret, judged by its path."""
    lists, lowered = _lists(), _comparable(path)
    return lowered in lists.secret and lowered not in lists.public


def protection_of(path: str) -> str:
    """Return the reason why each change of a file needs approval, or an empty string."""
    lists, lowered = _lists(), _comparable(path)
    if lowered not in lists.any_protected or lowered in lists.public:
        return ""
    return next(why for why, paths in lists.protected if lowered in paths)


def is_system_folder(path: str) -> bool:
    """Return True if a normalized absolute path is a folder of the system, or a home folder; `~` is one, too."""
    return _lists().system.fullmatch(path) is not None


def _comparable(path: str) -> str:
    """Return a path without what some file systems ignore: case, and forms and invisible characters of Unicode."""
    if path.isascii():
        return path.lower()
    # Imported here because few paths need it.
    import unicodedata

    visible = "".join(letter for letter in path if unicodedata.category(letter) != "Cf")
    return unicodedata.normalize("NFKC", visible).lower()


@cache
def secret_globs() -> tuple[str, ...]:
    """Return globs of names and folders with secrets, as ripgrep takes them. They include what is no secret at all."""
    secret = _data()["secret"]
    names, folders, paths = (_texts(secret[key]) for key in ("names", "folders", "paths"))
    nested = [each for each in (*folders, *paths) if "/" in each]
    simple = [*names, *(each for each in folders if "/" not in each)]
    # Few long globs: ripgrep compiles each of them.
    return f"{{{','.join(simple)}}}", f"**/{{{','.join(nested)}}}"


def is_published(folder: str) -> bool:
    """Return True for a folder name such as `node_modules`, which holds the work of others."""
    return folder in _lists().published


@cache
def _data() -> dict[str, Any]:  # Any: a table of tables
    # Imported here because no session needs it before its first tool call.
    import tomllib

    with Path(__file__).with_name("paths.toml").open("rb") as file:
        return tomllib.load(file)


@cache
def _lists() -> _Lists:
    data = _data()
    protected: list[Mapping[str, object]] = data["protected"]
    return _Lists(
        _path_list([data["secret"]]),
        _path_list([{"names": data["secret"]["except"]}]),
        frozenset(data["public"]["folders"]),
        tuple((str(table["why"]), _path_list([table])) for table in protected),
        _path_list(protected),
        re.compile(data["system"]["expression"]),
    )


def _path_list(tables: Sequence[Mapping[str, object]]) -> _PathList:
    ends: list[str] = []
    folders: list[str] = []
    for table in tables:
        ends += _texts(table.get("names"))
        ends += _texts(table.get("paths"))
        folders += _texts(table.get("folders"))
    expressions = [rf"(?:{'|'.join(map(_translated, ends))})$"] if ends else []
    expressions += [rf"(?:{'|'.join(map(_translated, folders))})(?:/|$)"] if folders else []
    return _PathList(re.compile(rf"(?:^|/)(?:{'|'.join(expressions)})", re.DOTALL))


def _texts(value: object) -> list[str]:
    return list(map(str, value)) if isinstance(value, list) else []  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType] from our own file


def _translated(pattern: str) -> str:
    """Return a pattern as an expression; a final `/*` stands for everything in a folder."""
    if pattern.endswith("/*"):
        return f"{_translated(pattern[:-2])}/.+"
    return "[^/]*".join(map(re.escape, pattern.split("*")))
