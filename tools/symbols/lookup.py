"""Finding definitions by name, and the references to them."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from fnmatch import translate

from msgspec import Struct

from tools.symbols.definitions import MEMBERS, Definition, Kind
from tools.symbols.indexing import parse, read_source
from tools.symbols.languages import is_test, language_of
from tools.symbols.references import Reference, references
from tools.symbols.store import IndexDatabase, Stamp, decoded_definitions
from tools.symbols.words import SHORTEST_WORD

_MOST_SEARCHED = 2_000
"""Maximum number of files in which references are looked for."""
_MOST_NAMES = 20
"""Maximum number of names whose references are looked for."""
_SEPARATORS = re.compile(r"::|#|\\|/")
_CHOICE = re.compile(r"\[[^\]]*\]")
_WORD = re.compile(rf"\w{{{SHORTEST_WORD},}}")
_Test = Callable[[Definition], bool]


class SymbolQuery(Struct, frozen=True, tag=True):
    """Request for symbols."""

    name: str
    """Name, qualified name or glob."""

    kind: Kind | None
    with_references: bool
    offset: int
    limit: int


class FoundDefinition(Struct, frozen=True):
    path: str
    definition: Definition


class FoundReference(Struct, frozen=True):
    path: str
    reference: Reference


class SymbolResult(Struct, frozen=True, tag=True):
    """One page of the symbols: definitions first, then references."""

    definitions: list[FoundDefinition]
    references: list[FoundReference]
    definition_count: int
    reference_count: int
    indexed: int
    is_exact: bool
    """False if no name is equal, so that similar ones are returned."""

    is_cut: bool
    """True if there may be more references, in files that were not searched."""


def find_symbols(database: IndexDatabase, root: str, query: SymbolQuery, files: Mapping[str, Stamp]) -> SymbolResult:
    """Find symbols in files whose words are known; those that may define the name are parsed."""
    parse(database, root, _unparsed_with(database, query.name, files))
    is_exact, found = _definitions(database, query, files)
    uses: list[FoundReference] = []
    is_cut = False
    if query.with_references:
        names = {each.definition.name for each in found} or {_SEPARATORS.sub(".", query.name).rpartition(".")[2]}
        uses, is_cut = _references(database, root, names, files)
    end = query.offset + query.limit
    return SymbolResult(
        found[query.offset : end],
        uses[max(query.offset - len(found), 0) : max(end - len(found), 0)],
        len(found),
        len(uses),
        len(files),
        is_exact,
        is_cut,
    )


def _unparsed_with(database: IndexDatabase, name: str, files: Mapping[str, Stamp]) -> list[str]:
    """Return the files that are not parsed and have the words of a name; of a glob, its longest parts."""
    unparsed = files.keys() & set(database.unparsed())
    if not unparsed:
        return []
    last = _SEPARATORS.sub(".", name).rpartition(".")[2]
    needed = [word.encode("utf-8", "replace").lower() for word in _WORD.findall(_CHOICE.sub(" ", last))]
    return [
        path for path, words in database.words() if path in unparsed and all(word in words.lower() for word in needed)
    ]


def _definitions(
    database: IndexDatabase, query: SymbolQuery, files: Mapping[str, Stamp]
) -> tuple[bool, list[FoundDefinition]]:
    """Return the definitions with the name; if there is none, those that differ in case, or contain it."""
    tests = list(_tests(_SEPARATORS.sub(".", query.name)))
    found: list[list[FoundDefinition]] = [[] for _ in tests]
    needle = b"" if _is_glob(query.name) else query.name.encode("utf-8", "replace").lower()
    needle = re.split(rb"[.:#\\/]", needle)[-1]
    for path, data in database.definitions():
        if path not in files or needle not in data.lower():
            continue
        for definition in decoded_definitions(data):
            if query.kind in (None, definition.kind):
                at = next((at for at, test in enumerate(tests) if test(definition)), None)
                if at is not None:
                    found[at].append(FoundDefinition(path, definition))
    best = next((at for at, each in enumerate(found) if each), 0)
    return best == 0, sorted(found[best], key=_order)


def _order(found: FoundDefinition) -> tuple[bool, bool, str]:
    """Sort tests last, which define doubles of what they test, and methods after types and functions."""
    return is_test(found.path), found.definition.kind in MEMBERS, found.path


def _tests(name: str) -> Iterator[_Test]:
    """Yield the tests of a definition, the strictest one first."""
    if _is_glob(name):
        matches = re.compile(translate(name)).match
        yield lambda each: bool(matches(each.qualified_name if "." in name else each.name))
        return
    lowered = name.lower()
    if "." in name:
        yield lambda each: f".{each.qualified_name}".endswith(f".{name}")
        yield lambda each: f".{each.qualified_name}".lower().endswith(f".{lowered}")
    else:
        yield lambda each: each.name == name
        yield lambda each: each.name.lower() == lowered
        yield lambda each: lowered in each.name.lower()


def _is_glob(name: str) -> bool:
    return any(character in name for character in "*?[")


def _references(
    database: IndexDatabase, root: str, names: set[str], files: Mapping[str, Stamp]
) -> tuple[list[FoundReference], bool]:
    wanted = frozenset(sorted(names)[:_MOST_NAMES])
    searched = [path for path, words in database.words() if path in files and _may_have(words, wanted)]
    searched.sort(key=lambda path: (is_test(path), path))
    found: list[FoundReference] = []
    for path in searched[:_MOST_SEARCHED]:
        language = language_of(path)
        if language is not None:
            uses = references(language, read_source(root, path), wanted)
            found += [FoundReference(path, use) for use in uses]
    return found, len(searched) > _MOST_SEARCHED or len(names) > _MOST_NAMES


def _may_have(words: bytes, names: frozenset[str]) -> bool:
    """Return False if a file has none of the names; a name may also be a part of another word."""
    return any(len(name) < SHORTEST_WORD or name.rstrip("?!=").encode("utf-8", "replace") in words for name in names)
