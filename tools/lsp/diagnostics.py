"""Diagnostics of a server: those that it publishes, and those that it returns on request."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Iterable, Sequence
from contextlib import suppress
from pathlib import Path
from urllib.parse import unquote, urlsplit

from lsprotocol import types
from msgspec import Struct

from harness.terminal_text import escape_controls

MAX_PER_FILE = 500
_MAX_FILES = 2000
_QUIET_S = 0.15
"""Servers publish in several steps: diagnostics count once none arrive for this long."""
_SILENCE_S = 1.0
"""Least time after which the diagnostics of a server that published none are taken as unchanged."""
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


class _Expected(Struct, frozen=True):
    """Diagnostics of a file that a server is expected to publish."""

    version: int
    """Version of the file that they must belong to."""
    since: float
    """Time of the loop since when they are expected."""
    silence_s: float
    """Seconds after which the server has nothing to publish; 0 if it publishes in any case."""


class PublishedDiagnostics:
    """Diagnostics that a server publishes, by path."""

    def __init__(self) -> None:
        self._items: dict[Path, Sequence[types.Diagnostic]] = {}
        self._expected: dict[Path, _Expected] = {}
        self._names_versions = True
        """False once the server has published without a version. Such servers publish nothing if nothing changes."""
        self._longest_s = 0.0
        """Longest time that it took to publish after a change."""
        self._count = 0
        self._changed = asyncio.Event()
        self._is_checking = False
        """True from a notification of the server that it is checking files until one that it is not."""
        self._has_ended = False

    def publish(self, params: types.PublishDiagnosticsParams) -> None:
        """Take over what a server publishes about a file."""
        path = path_of(params.uri)
        if path is None or (path not in self._items and len(self._items) >= _MAX_FILES):
            return
        expected = self._expected.get(path)
        self._names_versions = params.version is not None
        if expected is not None and (params.version is None or params.version >= expected.version):
            del self._expected[path]
            if path in self._items:
                self._longest_s = max(self._longest_s, _now() - expected.since)
        self._items[path] = params.diagnostics[:MAX_PER_FILE]
        self._wake()

    def expect(self, path: Path, version: int, silence_s: float = 0.0) -> None:
        """Let `current` wait until this version has diagnostics.

        Args:
            path: The file.
            version: The version.
            silence_s: Seconds after which the server has nothing to publish, as after a change of other files; 0 if
                it publishes in any case.
        """
        if not silence_s or path not in self._expected:
            self._expected[path] = _Expected(version, _now(), silence_s)

    def start_check(self) -> None:
        """Let `current` wait for `end_check`: what the server has published is not complete."""
        self._is_checking = True

    def end_check(self) -> None:
        self._is_checking = False

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

    def has(self, path: Path) -> bool:
        """Return True if the server has published something about a file, also that it has no diagnostics."""
        return path in self._items

    @property
    def paths(self) -> list[Path]:
        """Files with diagnostics."""
        return sorted(path for path, items in self._items.items() if items)

    async def current(self, path: Path, timeout_s: float) -> Sequence[types.Diagnostic] | None:
        """Return the diagnostics of the present version of a file; None if they do not arrive in time."""
        try:
            async with asyncio.timeout(timeout_s):
                while self._is_waiting(path):
                    await self._next(self._silence_left(path))
                self._expected.pop(path, None)
                await self._quiet()
        except TimeoutError:
            pass
        return None if path in self._expected or self._has_ended else self.known(path)

    def _is_waiting(self, path: Path) -> bool:
        left = self._silence_left(path)
        return path in self._expected and not self._has_ended and (left is None or left > 0)

    def _silence_left(self, path: Path) -> float | None:
        """Return the seconds after which diagnostics count as unchanged; None if the server will publish some."""
        expected = self._expected.get(path)
        if expected is None or not (expected.silence_s or (path in self._items and not self._names_versions)):
            return None
        return expected.since + max(expected.silence_s, _SILENCE_S, 3 * self._longest_s) - _now()

    async def _quiet(self) -> None:
        while True:
            count = self._count
            await asyncio.sleep(_QUIET_S)
            if self._has_ended or (count == self._count and not self._is_checking):
                return

    async def _next(self, seconds: float | None) -> None:
        self._changed.clear()
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._changed.wait()

    def _wake(self) -> None:
        self._count += 1
        self._changed.set()


def _now() -> float:
    return asyncio.get_running_loop().time()


def path_of(uri: str) -> Path | None:
    """Return the path of a file URI; None for another one."""
    try:
        parts = urlsplit(uri)
    except ValueError:
        return None
    return Path(unquote(parts.path)) if parts.scheme == "file" and parts.path and "\0" not in uri else None
