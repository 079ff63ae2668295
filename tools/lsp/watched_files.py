"""Files that a server watches, and their changes by other programs, such as a command of the shell.

Nothing is polled: the files are compared with those of the last time just before the server is used.

Source: `workspace/didChangeWatchedFiles` in the specification of the language server protocol, version 3.17.
"""

from __future__ import annotations

import asyncio
import logging
import os
import re
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import TypeAlias

from lsprotocol import types
from msgspec import Struct, ValidationError, convert, field

from tools.lsp.diagnostics import path_of

logger = logging.getLogger(__name__)

MAX_ENTRIES = 20_000
"""Number of files and folders above which a project is not watched: comparing them would take too long."""
_MOST_PATTERNS = 500
_MOST_STARS = 4
"""Number of `**` in a pattern above which matching it could take long."""
_IGNORED = frozenset((".git", ".hg", ".jj", ".svn", "__pycache__", ".mypy_cache", ".pytest_cache", ".ruff_cache"))
_PACKAGES = frozenset(("node_modules", "site-packages"))
"""Folders of installed packages: only the packages are compared, not the files in them."""
_GLOB = re.compile(r"\*\*/|\*\*|\*|\?|\{|\}|,|\[!?[^\]]*\]|.", re.DOTALL)

_EXPRESSIONS = {"**/": "(?:.*/)?", "**": ".*", "*": "[^/]*", "?": "[^/]", "{": "(?:", "}": ")"}

_Stamp: TypeAlias = tuple[int, int]
"""Modification time in nanoseconds and size."""
_ANY_KIND = int(types.WatchKind.Create | types.WatchKind.Change | types.WatchKind.Delete)
_KINDS = {
    types.FileChangeType.Created: types.WatchKind.Create,
    types.FileChangeType.Changed: types.WatchKind.Change,
    types.FileChangeType.Deleted: types.WatchKind.Delete,
}


class _Folder(Struct):
    uri: str


class _RelativePattern(Struct):
    base: _Folder | str = field(name="baseUri")
    pattern: str


class _Watcher(Struct):
    glob: str | _RelativePattern = field(name="globPattern")
    kind: int = _ANY_KIND


class _Options(Struct):
    watchers: list[_Watcher]


class _Pattern(Struct, frozen=True):
    expression: re.Pattern[str]
    """Matches absolute paths."""
    kind: int
    """Changes to report, as bits of `WatchKind`."""


class WatchedFiles:
    """The files of one server that match the patterns it has registered.

    Args:
        root: Root folder of the server; files outside are not watched.
    """

    def __init__(self, root: Path) -> None:
        self._root = root
        self._patterns: dict[str, list[_Pattern]] = {}
        """Patterns by id of the registration."""
        self._known: dict[str, _Stamp] = {}
        self._is_too_large = False
        self._lock = asyncio.Lock()
        self._baselines: set[asyncio.Task[None]] = set()

    def register(self, params: types.RegistrationParams) -> None:
        """Watch the files that a server names."""
        for each in params.registrations:
            if each.method == types.WORKSPACE_DID_CHANGE_WATCHED_FILES:
                self._patterns[each.id] = self._compiled(each.register_options)
        if self.is_active:
            task = asyncio.create_task(self._take_baseline())
            self._baselines.add(task)
            task.add_done_callback(self._baselines.discard)

    def unregister(self, params: types.UnregistrationParams) -> None:
        """Watch the files of a registration no longer."""
        for each in params.unregisterations:
            self._patterns.pop(each.id, None)

    @property
    def is_active(self) -> bool:
        """True if the server has registered patterns, and the project is not too large."""
        return bool(self._patterns) and not self._is_too_large

    async def changes(self) -> list[types.FileEvent]:
        """Return what has changed since the last time."""
        if not self.is_active:
            return []
        if self._baselines:
            await asyncio.wait(self._baselines)
        async with self._lock:
            found = await self._scanned()
            if found is None:
                return []
            before, self._known = self._known, found
        gone = ((path, types.FileChangeType.Deleted) for path in before if path not in found)
        return [event for path, kind in (*_differences(before, found), *gone) if (event := self._event(path, kind))]

    async def _take_baseline(self) -> None:
        async with self._lock:
            found = await self._scanned()
            # Changes since the last time stay to be reported.
            self._known = {**found, **self._known} if found else {}

    async def _scanned(self) -> dict[str, _Stamp] | None:
        """Return the watched files as they are; None if there are too many."""
        expressions = [each.expression.pattern for patterns in self._patterns.values() for each in patterns]
        matches = re.compile("|".join(dict.fromkeys(expressions)) or r"(?!)", re.DOTALL).fullmatch
        found = await asyncio.to_thread(_scan, self._root, matches)
        if found is None and not self._is_too_large:
            logger.info("%s has more than %d files, which are not watched", self._root, MAX_ENTRIES)
            self._is_too_large, self._known = True, {}
        return found

    def _event(self, path: str, kind: types.FileChangeType) -> types.FileEvent | None:
        bit = _KINDS[kind]
        patterns = (each for patterns in self._patterns.values() for each in patterns)
        is_wanted = any(each.kind & bit and each.expression.fullmatch(path) for each in patterns)
        return types.FileEvent(Path(path).as_uri(), kind) if is_wanted else None

    def _compiled(self, options: object) -> list[_Pattern]:
        try:
            watchers = convert(options, _Options).watchers[:_MOST_PATTERNS]
        except ValidationError as error:
            logger.debug("a server watches files in an invalid way: %s", error)
            return []
        return [pattern for each in watchers if (pattern := self._pattern(each))]

    def _pattern(self, watcher: _Watcher) -> _Pattern | None:
        glob, base = watcher.glob, self._root
        if isinstance(glob, _RelativePattern):
            place = path_of(glob.base if isinstance(glob.base, str) else glob.base.uri)
            if place is None:
                return None
            glob, base = glob.pattern, place
        if glob.count("**") > _MOST_STARS:
            return None
        start = "" if glob.startswith("/") else re.escape(str(base).rstrip("/")) + "/"
        try:
            return _Pattern(re.compile(start + glob_expression(glob), re.DOTALL), watcher.kind)
        except re.error as error:
            logger.debug("a server watches an invalid pattern: %s", error)
            return None


def glob_expression(glob: str) -> str:
    """Return a pattern of the protocol as a regular expression: `*`, `?`, `**`, `{a,b}`, `[a-z]` and `[!a-z]`."""
    depth, parts = 0, list[str]()
    for token in _GLOB.findall(glob):
        depth += (token == "{") - (token == "}")
        if token.startswith("[") and len(token) > 1:
            parts.append(f"[^{token[2:]}" if token[1] == "!" else token)
        elif token == "," and depth > 0:
            parts.append("|")
        else:
            parts.append(_EXPRESSIONS.get(token) or re.escape(token))
    return "".join(parts)


def _differences(before: dict[str, _Stamp], found: dict[str, _Stamp]) -> Iterator[tuple[str, types.FileChangeType]]:
    for path, stamp in found.items():
        if path not in before:
            yield path, types.FileChangeType.Created
        elif before[path] != stamp:
            yield path, types.FileChangeType.Changed


def _scan(root: Path, matches: Callable[[str], object]) -> dict[str, _Stamp] | None:
    """Return the files below a folder whose paths match; None if there are too many."""
    found: dict[str, _Stamp] = {}
    folders = [str(root)]
    visited = 0
    while folders:
        folder = folders.pop()
        is_flat = os.path.basename(folder) in _PACKAGES  # noqa: PTH119  this is a loop over many files
        try:
            entries = list(os.scandir(folder))
        except OSError:
            continue
        visited += len(entries)
        if visited > MAX_ENTRIES:
            return None
        for entry in entries:
            is_folder = entry.is_dir(follow_symlinks=False)
            if is_folder and not is_flat:
                if entry.name not in _IGNORED:
                    folders.append(entry.path)
            elif matches(entry.path):
                with suppress(OSError):
                    status = entry.stat()
                    found[entry.path] = (status.st_mtime_ns, status.st_size)
    return found
