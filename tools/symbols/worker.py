"""Process that answers requests about the symbols of projects: requests on stdin, responses on stdout.

A process of its own, since parsing and ranking would hold the interpreter. It ends when stdin is closed, and after some
idle time, which returns its memory. A message is its length as eight bytes, big-endian, and msgpack.
"""

from __future__ import annotations

import gc
import select
import sys
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import IO

import msgspec
from msgspec import Struct

from tools.symbols.indexing import parse, update
from tools.symbols.lookup import SymbolQuery, SymbolResult, find_symbols
from tools.symbols.repository_map import MapQuery, MapResult, draw_map
from tools.symbols.store import IndexDatabase, use_index

IDLE_S = 120.0
"""Time in seconds after which a process without requests ends."""
BACKGROUND_NICENESS = 10
"""Added to that of the processes that work between requests: the user and their programs come first."""
LENGTH_BYTES = 8


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


class Failure(Struct, frozen=True, tag=True):
    """A request that failed."""

    error: str


Response = MapResult | SymbolResult | Failure


def write_message(file: IO[bytes], message: Struct) -> None:
    """Write a message and flush.

    Raises:
        OSError: The reader has ended.
    """
    data = msgspec.msgpack.encode(message)
    file.write(len(data).to_bytes(LENGTH_BYTES) + data)
    file.flush()


def read_message(file: IO[bytes]) -> bytes:
    """Return the next message, encoded; empty if the writer has ended."""
    length = int.from_bytes(file.read(LENGTH_BYTES))
    data = file.read(length)
    return data if len(data) == length else b""


def answer(request: Request) -> MapResult | SymbolResult:
    """Answer a request; the index is brought up to date."""
    return use_index(Path(request.cache) if request.cache else None, request.root, partial(_answer, request))


def _answer(request: Request, database: IndexDatabase) -> MapResult | SymbolResult:
    files = update(database, request.root, request.names, request.prefix)
    match request.query:
        case MapQuery():
            return draw_map(database, request.root, request.query, files)
        case SymbolQuery():
            return find_symbols(database, request.root, request.query, files)


def _finish(request: Request) -> None:
    """Parse the files that are left, until another request comes."""

    def work(database: IndexDatabase) -> None:
        unparsed = [path for path in database.unparsed() if path.startswith(request.prefix)]
        parse(database, request.root, unparsed, _is_asked, niceness=BACKGROUND_NICENESS)

    with suppress(Exception):
        use_index(Path(request.cache), request.root, work)


def _is_asked(wait_s: float = 0.0) -> bool:
    return bool(select.select([sys.stdin.buffer], [], [], wait_s)[0])


def main() -> None:
    # One request at a time: when one has been read, nothing is left in the buffer.
    while _is_asked(IDLE_S) and (data := read_message(sys.stdin.buffer)):
        try:
            request = msgspec.msgpack.decode(data, type=Request)
            response: Response = answer(request)
        except Exception as error:  # noqa: BLE001  the other process reports it
            write_message(sys.stdout.buffer, Failure(f"{type(error).__name__}: {error}"))
            continue
        write_message(sys.stdout.buffer, response)
        if isinstance(response, MapResult) and response.is_draft:
            _finish(request)


if __name__ == "__main__":
    # Collections would take a tenth of the time, and find nothing: the data has no cycles.
    gc.disable()
    main()
