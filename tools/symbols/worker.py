"""Process that answers one request about the symbols of a project: request on stdin, response on stdout.

A process of its own, since parsing and ranking would hold the interpreter, and the memory they take is returned.
"""

from __future__ import annotations

import sys
from functools import partial
from pathlib import Path

import msgspec
from msgspec import Struct

from tools.symbols.indexing import update
from tools.symbols.lookup import SymbolQuery, SymbolResult, find_symbols
from tools.symbols.repository_map import MapQuery, MapResult, draw_map
from tools.symbols.store import IndexDatabase, use_index


class Request(Struct, frozen=True):
    """A query about the source files of a project."""

    root: str
    prefix: str
    """Start of the paths of the files; empty for the whole project."""

    names: list[str]
    """Paths of all source files below the prefix, relative to the project."""

    query: MapQuery | SymbolQuery
    cache: str = ""
    """Folder of the indexes; empty for none."""


def answer(request: Request) -> MapResult | SymbolResult:
    """Answer a request; the index is brought up to date."""
    return use_index(Path(request.cache) if request.cache else None, request.root, partial(_answer, request))


def _answer(request: Request, database: IndexDatabase) -> MapResult | SymbolResult:
    files = update(database, request.root, request.names, request.prefix)
    match request.query:
        case MapQuery():
            return draw_map(database, request.query, files)
        case SymbolQuery():
            return find_symbols(database, request.root, request.query, files)


def main() -> None:
    request = msgspec.msgpack.decode(sys.stdin.buffer.read(), type=Request)
    sys.stdout.buffer.write(msgspec.msgpack.encode(answer(request)))


if __name__ == "__main__":
    main()
