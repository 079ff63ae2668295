"""Repository map: the definitions that a project refers to most, grouped by file, within a limit of characters."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping

import msgspec
from msgspec import Struct

from tools.symbols.definitions import Definition
from tools.symbols.indexing import parse
from tools.symbols.ranking import FileWords, RankedName, rank
from tools.symbols.store import IndexDatabase, Stamp

_MOST_NAMES = 4_000
_MOST_OF_NAME = 3
_MOST_MISSES = 40
"""Number of definitions in a row that do not fit, after which the map is full."""
_MUCH = 4_000_000
"""Bytes of source code that two processes parse in about a second."""
_DRAFT_FILES = 200
_RANKED = msgspec.msgpack.Decoder(list[RankedName])


class MapQuery(Struct, frozen=True, tag=True):
    """Request for a map."""

    focus: tuple[str, ...]
    """Paths and names that matter most."""

    characters: int
    """Maximum length of the text."""

    may_be_draft: bool = False
    """True if the names that files seem to declare are enough when many files are not parsed yet."""


class MapFile(Struct, frozen=True):
    """A file of the map with its lines."""

    path: str
    lines: list[str]


class MapResult(Struct, frozen=True, tag=True):
    """A map."""

    files: list[MapFile]
    indexed: int
    """Number of files that were considered."""

    is_draft: bool = False
    """True if many files are not parsed yet: the choice is by the names that they seem to declare."""


def draw_map(database: IndexDatabase, root: str, query: MapQuery, files: Mapping[str, Stamp]) -> MapResult:
    """Draw the map of some files whose words are known."""
    unparsed = dict.fromkeys(path for path in database.unparsed() if path in files)
    is_draft = query.may_be_draft and sum(files[path].size for path in unparsed) > _MUCH
    if not is_draft:
        parse(database, root, list(unparsed))
    ranked = _ranked(database, query, files, len(unparsed) if is_draft else 0)
    if is_draft:
        highest = dict.fromkeys(each.path for each in ranked)
        parse(database, root, [path for path in highest if path in unparsed][:_DRAFT_FILES])
    drawing = _Drawing(query.characters)
    misses = 0
    for each in ranked:
        if path_definitions := drawing.known.get(each.path) or database.definitions_in(each.path):
            drawing.known[each.path] = path_definitions
            misses = 0 if drawing.add(each) else misses + 1
        if misses > _MOST_MISSES:
            break
    return MapResult(drawing.files(), len(files), is_draft)


def _ranked(database: IndexDatabase, query: MapQuery, files: Mapping[str, Stamp], unparsed: int) -> list[RankedName]:
    """Return the ranking of the files, which is saved until one of them changes or is parsed."""
    state = hashlib.blake2b(msgspec.msgpack.encode((sorted(query.focus), unparsed, files))).digest()
    saved = database.ranking(state)
    if saved is not None:
        return _RANKED.decode(saved)
    ranked = rank(list(_words(database, files)), frozenset(query.focus), _MOST_NAMES)
    database.save_ranking(state, msgspec.msgpack.encode(ranked))
    return ranked


def _words(database: IndexDatabase, files: Mapping[str, Stamp]) -> Iterable[FileWords]:
    for path, weights, words in database.weights():
        if path in files:
            yield FileWords(path, weights, words)


class _Drawing:
    """Lines chosen so far, and the characters that are left."""

    def __init__(self, characters: int) -> None:
        self.known: dict[str, list[Definition]] = {}
        self._left = characters
        self._chosen: dict[str, set[int]] = {}

    def add(self, ranked: RankedName) -> bool:
        """Add the definitions of a name, if it has any, with those around them; return False if they do not fit."""
        known = self.known[ranked.path]
        named = [at for at, each in enumerate(known) if each.name == ranked.name][:_MOST_OF_NAME]
        wanted = {outer for at in named for outer in _with_outer(known, at)}
        if not wanted:
            return True
        new = wanted - self._chosen.get(ranked.path, set())
        cost = sum(len(_line(known[at])) + 1 for at in new)
        cost += 0 if ranked.path in self._chosen else len(ranked.path) + 1
        if cost > self._left:
            return False
        self._left -= cost
        self._chosen.setdefault(ranked.path, set()).update(new)
        return True

    def files(self) -> list[MapFile]:
        """Return the files, that with the highest definition first, and their lines in order."""
        return [
            MapFile(path, list(dict.fromkeys(_line(self.known[path][at]) for at in sorted(chosen))))
            for path, chosen in self._chosen.items()
        ]


def _with_outer(known: list[Definition], at: int) -> list[int]:
    """Return the position of a definition and of those that enclose it."""
    found = [at]
    depth = known[at].depth
    for before in range(at - 1, -1, -1):
        if depth == 0:
            break
        if known[before].depth < depth:
            depth = known[before].depth
            found.append(before)
    return found


def _line(definition: Definition) -> str:
    return f"{'  ' * definition.depth}{definition.line}: {definition.text}"
