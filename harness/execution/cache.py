"""Results that stay true are not worked out twice."""

from __future__ import annotations

import hashlib
import json
import os
import stat
import time
from collections import OrderedDict
from collections.abc import Sequence
from pathlib import Path

from harness.errors import NotAFile
from harness.lazy_dataclass import dataclass
from harness.messages import JsonObject
from harness.ports.tool import ToolOutput
from harness.workspace.disk import read_regular

# File systems note a change in steps, some of two seconds: within one, a file can change and look as before.
_STEP_NS = 2_000_000_000
_MOST_BYTES = 256 * 1024


@dataclass(frozen=True, slots=True)
class _Mark:
    """What tells that a file is as it was. `digest` where it changed too lately for its times to tell."""

    inode: int
    size: int
    modified: int
    changed: int
    digest: bytes


@dataclass(frozen=True, slots=True)
class Lookup:
    """A call as the cache knows it: its arguments in one form, and the real paths of the files it reads."""

    tool_name: str
    arguments: str
    paths: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Attempt:
    """A result on its way: how the files were before, and how often the cache was cleared until then."""

    lookup: Lookup
    marks: tuple[_Mark, ...] | None
    clearings: int


@dataclass(frozen=True, slots=True)
class _Entry:
    output: ToolOutput
    marks: tuple[_Mark, ...]
    turn: int


def lookup_of(tool_name: str, arguments: JsonObject, paths: Sequence[str]) -> Lookup | None:
    """None for arguments that have no JSON form, as those of strangers' tools may."""
    try:
        form = json.dumps(arguments, sort_keys=True, separators=(",", ":"))
    except (TypeError, ValueError, RecursionError):
        return None
    return Lookup(tool_name, form, tuple(paths))


class ResultCache:
    """The newest `entries` results, each for `turns` turns; any call that changes something clears it.

    What was read from a file is only handed out while that file is as it was. A folder is not known to be.
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
        """What the same call gave, if that is still true in this turn of the conversation."""
        entry = self._entries.get(lookup)
        if entry is None:
            return None
        if turn - entry.turn > self._turns or _marks(lookup.paths, like=entry.marks) != entry.marks:
            del self._entries[lookup]
            return None
        self._entries.move_to_end(lookup)
        return entry.output

    def attempt(self, lookup: Lookup) -> Attempt:
        """To be asked for before the call runs."""
        return Attempt(lookup, _marks(lookup.paths), self._clearings)

    def keep(self, attempt: Attempt, output: ToolOutput, turn: int) -> None:
        """Keep a result, unless it is an error or something was changed while it was worked out."""
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
    """Marks of files, with digests where those they are compared with have them; None where there can be none."""
    marks: list[_Mark] = []
    for index, path in enumerate(paths):
        mark = _mark(path, needs_digest=bool(like[index].digest) if like is not None else None)
        if mark is None:
            return None
        marks.append(mark)
    return tuple(marks)


def _mark(path: str, *, needs_digest: bool | None) -> _Mark | None:
    try:
        status = os.lstat(path)
        if not stat.S_ISREG(status.st_mode):
            return None
        if needs_digest is None:
            needs_digest = time.time_ns() - max(status.st_mtime_ns, status.st_ctime_ns) < _STEP_NS
        digest = _digest(path, status.st_size) if needs_digest else b""
    except (OSError, NotAFile):
        return None
    if digest is None:
        return None
    return _Mark(status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns, digest)


def _digest(path: str, size: int) -> bytes | None:
    if size > _MOST_BYTES:
        return None
    return hashlib.blake2b(read_regular(Path(path)), digest_size=16).digest()
