"""Diagnostics of a server: those that it publishes, and those that it returns on request."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path
from urllib.parse import unquote, urlsplit

from lsprotocol import types
from msgspec import Struct

from harness.terminal_text import escape_controls

MAX_PER_FILE = 500
_MAX_FILES = 2000
_QUIET_S = 0.15
"""Servers publish in several steps: diagnostics count once none arrive for this long."""
_SEVERITIES = {1: "error", 2: "warning", 3: "information", 4: "hint"}
_LONGEST = 500


class Problem(Struct, frozen=True, order=True):
    """A diagnostic."""

    line: int
    """Line, from 1."""
    severity: int
    """1 error, 2 warning, 3 information, 4 hint."""
    message: str
    """Message on one line."""
    source: str
    """Source and code, such as `pyright reportCallIssue`."""

    @property
    def identity(self) -> tuple[int, str, str]:
        """Everything but the line, which an edit above it changes."""
        return (self.severity, self.message, self.source)

    def __str__(self) -> str:
        source = f" [{self.source}]" if self.source else ""
        return f"{self.line}: {_SEVERITIES[self.severity]}: {self.message}{source}"


def problems_of(items: Iterable[types.Diagnostic], server: str) -> tuple[Problem, ...]:
    """Return diagnostics in order, without duplicates.

    Args:
        items: The diagnostics.
        server: Name of the server, for those without a source.
    """
    return tuple(sorted({_problem(each, server) for each in items}))


def _problem(item: types.Diagnostic, server: str) -> Problem:
    severity = item.severity.value if item.severity else 1
    source = item.source or server
    if item.code is not None:
        source = f"{source} {item.code}"
    message = " ".join(str(item.message).split())[:_LONGEST]
    return Problem(item.range.start.line + 1, severity, escape_controls(message), escape_controls(source[:100]))


def new_problems(before: Sequence[Problem], after: Sequence[Problem]) -> list[Problem]:
    """Return the problems that were not there before; lines may have moved."""
    left = Counter(each.identity for each in before)
    new: list[Problem] = []
    for each in after:
        if left[each.identity] > 0:
            left[each.identity] -= 1
        else:
            new.append(each)
    return new


class PublishedDiagnostics:
    """Diagnostics that a server publishes, by path."""

    def __init__(self) -> None:
        self._items: dict[Path, Sequence[types.Diagnostic]] = {}
        self._expected: dict[Path, int] = {}
        """Version of a file that diagnostics must belong to."""
        self._count = 0
        self._changed = asyncio.Event()
        self._has_ended = False

    def publish(self, params: types.PublishDiagnosticsParams) -> None:
        """Take over what a server publishes about a file."""
        path = path_of(params.uri)
        if path is None or (path not in self._items and len(self._items) >= _MAX_FILES):
            return
        self._items[path] = params.diagnostics[:MAX_PER_FILE]
        if params.version is None or params.version >= self._expected.get(path, 0):
            self._expected.pop(path, None)
        self._wake()

    def expect(self, path: Path, version: int) -> None:
        """Let `current` wait until this version has diagnostics."""
        self._expected[path] = version

    def forget(self, path: Path) -> None:
        self._expected.pop(path, None)
        self._items.pop(path, None)

    def end(self) -> None:
        """Let nothing wait any longer."""
        self._has_ended = True
        self._wake()

    def known(self, path: Path) -> Sequence[types.Diagnostic]:
        """Return the latest diagnostics of a file, also if they are about an earlier version."""
        return self._items.get(path, ())

    @property
    def paths(self) -> list[Path]:
        """Files with diagnostics."""
        return sorted(path for path, items in self._items.items() if items)

    async def current(self, path: Path, timeout_s: float) -> Sequence[types.Diagnostic] | None:
        """Return the diagnostics of the present version of a file; None if they do not arrive in time."""
        try:
            async with asyncio.timeout(timeout_s):
                while path in self._expected and not self._has_ended:
                    await self._next()
                await self._quiet()
        except TimeoutError:
            pass
        return None if path in self._expected or self._has_ended else self.known(path)

    async def _quiet(self) -> None:
        while True:
            count = self._count
            await asyncio.sleep(_QUIET_S)
            if count == self._count:
                return

    async def _next(self) -> None:
        self._changed.clear()
        await self._changed.wait()

    def _wake(self) -> None:
        self._count += 1
        self._changed.set()


def path_of(uri: str) -> Path | None:
    """Return the path of a file URI; None for another one."""
    try:
        parts = urlsplit(uri)
    except ValueError:
        return None
    return Path(unquote(parts.path)) if parts.scheme == "file" and parts.path and "\0" not in uri else None
