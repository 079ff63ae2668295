"""Definitions in a source file: name, kind, lines and enclosing definitions."""

from __future__ import annotations

import re
from collections.abc import Iterator
from operator import itemgetter
from typing import TYPE_CHECKING, Literal, TypeAlias, get_args

from msgspec import Struct

from tools.symbols.languages import grammar
from tools.symbols.parsing import parsed

if TYPE_CHECKING:
    from tree_sitter import Node

Kind: TypeAlias = Literal[
    "class",
    "constant",
    "enum",
    "function",
    "interface",
    "macro",
    "method",
    "module",
    "struct",
    "trait",
    "type",
    "variable",
]

MEMBERS = frozenset({"constant", "method", "variable"})
"""Kinds that are rather parts of something else."""
_KINDS = frozenset(get_args(Kind))
_HOLDERS = frozenset({"class", "container", "enum", "interface", "struct", "trait"})
"""Kinds whose functions are methods."""
_DEEPEST = 10
"""Depth in the syntax tree: what is nested deeper is local, and finding it takes as long as all the rest."""
_MOST = 5_000
_LONGEST_NAME = 100
_LONGEST_TEXT = 120
_ARGUMENTS = re.compile(r"[<(\[].*", re.DOTALL)
_SEPARATORS = re.compile(r"::|\\|\.")
_WORD = re.compile(r"\w+")


class Definition(Struct, frozen=True, array_like=True):
    """A definition."""

    name: str
    kind: Kind
    line: int
    """First line, from 1."""

    end_line: int
    scope: str
    """Names of the enclosing definitions, joined by dots."""

    depth: int
    """Number of enclosing definitions in this file."""

    text: str
    """First line of the source, shortened."""

    @property
    def qualified_name(self) -> str:
        return f"{self.scope}.{self.name}" if self.scope else self.name


class _Found(Struct):
    """A match of the query."""

    name: Node
    node: Node
    kind: str
    scope: str


def definitions(language: str, data: bytes) -> list[Definition]:
    """Return the definitions in a source text, in order; at most 5,000. Any bytes are accepted."""
    root = parsed(language, data)
    return [] if root is None else definitions_in(language, root, data)


def definitions_in(language: str, root: Node, data: bytes) -> list[Definition]:
    """Return the definitions in a text that is parsed."""
    return list(_nested(_found(language, root), data))


def _found(language: str, root: Node) -> list[_Found]:
    from tree_sitter import QueryCursor  # with the parser, not before

    cursor = QueryCursor(grammar(language)[1])
    cursor.set_max_start_depth(_DEEPEST)
    # Without a progress callback, which crashes the interpreter (tree-sitter 0.26.1).
    matches = cursor.matches(root)
    by_name: dict[int, _Found] = {}
    # Of the patterns that match a name, the first in the file is the most specific one.
    for _, captures in sorted(matches, key=itemgetter(0), reverse=True):
        (name,) = captures.pop("name")
        scope = captures.pop("scope", None)
        kind, (node, *_) = captures.popitem()
        by_name[name.start_byte] = _Found(name, node, kind, _text(scope[0]) if scope else "")
    return sorted(by_name.values(), key=lambda found: (found.node.start_byte, -found.node.end_byte))[:_MOST]


def _nested(found: list[_Found], data: bytes) -> Iterator[Definition]:
    """Yield definitions with their scope; a container gives a scope and is none."""
    open_: list[tuple[_Found, list[str]]] = []
    for each in found:
        while open_ and open_[-1][0].node.end_byte <= each.node.start_byte:
            open_.pop()
        *path, name = _names(_text(each.name))
        own = [*_receiver(each.scope), *path]
        outer = [part for _, names in open_ for part in names]
        if each.kind in _KINDS and name:
            kind = "method" if each.kind == "function" and (own or _is_held(open_)) else each.kind
            yield Definition(
                name[:_LONGEST_NAME],
                kind,  # pyright: ignore[reportArgumentType] one of the kinds, as just checked
                each.node.start_point.row + 1,
                _last_line(each.node),
                ".".join([*outer, *own])[: 3 * _LONGEST_NAME],
                sum(outer.kind in _KINDS for outer, _ in open_),
                _first_line(data, each),
            )
        open_.append((each, [*own, name]))


def _is_held(open_: list[tuple[_Found, list[str]]]) -> bool:
    return bool(open_) and open_[-1][0].kind in _HOLDERS


def _names(text: str) -> list[str]:
    """Split a qualified name; type arguments are left out."""
    if text.isidentifier():
        return [text]
    return _SEPARATORS.split(text if text.startswith("operator") else _ARGUMENTS.sub("", text).strip())


def _receiver(text: str) -> list[str]:
    """Return the type in a receiver such as `*Server[T]`."""
    word = _WORD.search(text)
    return [word[0]] if word else []


def _last_line(node: Node) -> int:
    end = node.end_point
    return end.row + (end.column > 0 or end.row == node.start_point.row)


def _first_line(data: bytes, found: _Found) -> str:
    """Return the line of the name, from the start of the definition if that is on it."""
    name = found.name.start_byte
    start = max(data.rfind(b"\n", 0, name) + 1, 0)
    end = data.find(b"\n", name)
    line = data[max(start, name - _LONGEST_TEXT) : len(data) if end < 0 else end][: 8 * _LONGEST_TEXT]
    text = line.decode("utf-8", "replace").strip()
    return text if len(text) <= _LONGEST_TEXT else text[: _LONGEST_TEXT - 1] + "…"


def _text(node: Node) -> str:
    return (node.text or b"")[: 8 * _LONGEST_NAME].decode("utf-8", "replace")
