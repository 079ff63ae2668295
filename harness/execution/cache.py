"""Cache of tool results, invalidated by changes."""

from __future__ import annotations

import hashlib
import json
import time
from collections import OrderedDict
from collections.abc import Sequence
from pathlib import Path

from msgspec import Struct

from harness.errors import FileTooLarge, NotAFile
from harness.messages import JsonObject
from harness.ports.tool import ToolOutput
from harness.workspace.disk import read_regular, regular_status

# File systems record times in steps of up to two seconds; within one, a change may leave the times as they were.
_STEP_NS = 2_000_000_000
_MAX_DIGEST_BYTES = 256 * 1024


class _Mark(Struct, frozen=True):
    """Fingerprint of a file. `digest` is set if the file changed too recently for its times to be reliable."""

    inode: int
    size: int
    modified: int
    changed: int
    digest: bytes


class Lookup(Struct, frozen=True):
    """Cache key: tool, serialized arguments, and the real paths of the files the call reads."""

    tool_name: str
    arguments: str
    paths: tuple[str, ...]


class Attempt(Struct, frozen=True):
    """A result in progress: the fingerprints of the files, and the number of invalidations, before the call."""

    lookup: Lookup
    marks: tuple[_Mark, ...] | None
    clearings: int


class _Entry(Struct, frozen=True):
    output: ToolOutput
    marks: tuple[_Mark, ...]
    turn: int


def lookup_of(tool_name: str, arguments: JsonObject, paths: Sequence[str]) -> Lookup | None:
    """Return the cache key of a call, or None if its arguments cannot be serialized."""
    try:
        form = json.dumps(arguments, sort_keys=True, separators=(",", ":"))
    except (TypeError, ValueError, RecursionError):
        return None
    return Lookup(tool_name, form, tuple(paths))


class ResultCache:
    """The latest `entries` results, each for `turns` turns; any call that changes something clears the cache.

    A result that depends on files is returned only while they are unchanged. Folders are not cached.
    """

    def __init__(self, entries: int = 100, turns: int = 10) -> None:
        self._size = entries
        self._turns = turns
        self._clearings = 0
        self._entries: OrderedDict[Lookup, _Entry] = OrderedDict()

    def __len__(self) -> int:
        return len(self._entries)

    @property
    def is_on(self) -> bool:
        return self._size > 0

    def find(self, lookup: Lookup, turn: int) -> ToolOutput | None:
        """Return the cached result of a call if it is still valid in this turn."""
        entry = self._entries.get(lookup)
        if entry is None:
            return None
        if turn - entry.turn > self._turns or _marks(lookup.paths, like=entry.marks) != entry.marks:
            del self._entries[lookup]
            return None
        self._entries.move_to_end(lookup)
        return entry.output

    def attempt(self, lookup: Lookup) -> Attempt:
        """Start a cache entry; must be called before the call runs."""
        return Attempt(lookup, _marks(lookup.paths), self._clearings)

    def keep(self, attempt: Attempt, output: ToolOutput, turn: int) -> None:
        """Store a result, unless it is an error or something changed while the call ran."""
        if output.is_error or attempt.marks is None or attempt.clearings != self._clearings:
            return
        self._entries[attempt.lookup] = _Entry(output, attempt.marks, turn)
        self._entries.move_to_end(attempt.lookup)
        while len(self._entries) > self._size:
            self._entries.popitem(last=False)

    def clear(self) -> None:
        self._clearings += 1
        self._entries.clear()


def _marks(paths: Sequence[str], like: Sequence[_Mark] | None = None) -> tuple[_Mark, ...] | None:
    """Return the fingerprints of files, with digests where `like` has them; None if one cannot be determined."""
    needs_digest = [bool(mark.digest) for mark in like] if like is not None else [None] * len(paths)
    try:
        return tuple(map(_mark, map(Path, paths), needs_digest))
    except (OSError, NotAFile, FileTooLarge):
        return None


def _mark(path: Path, needs_digest: bool | None) -> _Mark:  # noqa: FBT001
    status = regular_status(path)
    if needs_digest is None:
        needs_digest = time.time_ns() - max(status.st_mtime_ns, status.st_ctime_ns) < _STEP_NS
    if needs_digest and status.st_size > _MAX_DIGEST_BYTES:
        raise FileTooLarge(f"{path} is too large for a digest")
    digest = hashlib.blake2b(read_regular(path), digest_size=16).digest() if needs_digest else b""
    return _Mark(status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns, digest)
