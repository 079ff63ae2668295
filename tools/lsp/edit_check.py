"""New errors after an edit, from language servers."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Container, Sequence, Set
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from harness.concurrency import cancel_tasks
from harness.errors import LanguageServerError, WorkspaceError
from harness.ports.tool import ToolContext
from harness.workspace.changes import Change
from harness.workspace.workspace import Workspace
from tools.lsp.options import FoundServer
from tools.lsp.servers import LanguageServers
from tools.post_edit import EditNote, PostEditStep

# Modules that use pygls are imported when a server has started.
if TYPE_CHECKING:
    from lsprotocol.types import Diagnostic

    from tools.lsp.connection import Connection
    from tools.lsp.diagnostics import Problem
    from tools.lsp.documents import Document

logger = logging.getLogger(__name__)

MAX_LINES = 20
_MAX_OTHERS = 10
"""Number of other files that are checked after a change, if their diagnostics have to be requested."""
_BASELINE_S = 30.0
_CHECK_S = 30.0
_ERROR = 1

_Key: TypeAlias = tuple[Path, str]
"""A file, and the name of a server."""


class _Group(NamedTuple):
    """Changed files that one server checks."""

    found: FoundServer
    root: Path
    changes: list[Change]

    @property
    def keys(self) -> set[_Key]:
        return {(change.path, self.found.server.name) for change in self.changes}


class EditCheck:
    """Reports errors that a change has caused, in its files and in others; a step after changes of files.

    The first edit in a language starts its server in the background.
    """

    def __init__(self, servers: LanguageServers) -> None:
        self._servers = servers
        self._reported: dict[_Key, Sequence[Problem]] = {}
        """Problems before the first edit, or as they were reported last."""
        self._current: dict[_Key, Sequence[Problem]] = {}
        self._running: dict[asyncio.Task[None], set[_Key]] = {}

    async def __call__(self, changes: Sequence[Change], context: ToolContext) -> list[EditNote]:
        """Check files that have changed, and return their new errors."""
        options = self._servers.options
        if not options.diagnostics_after_edits:
            return []
        workspace = context.workspace
        groups = await self._groups(changes, workspace)
        # A server that is still busy with earlier edits delays no further ones.
        busy = {key[1] for keys in self._running.values() for key in keys}
        started = {self._start(group, workspace): group.found.server.name for group in groups}
        awaited = [task for task, name in started.items() if name not in busy]
        if awaited:
            await asyncio.wait(awaited, timeout=options.edit_wait_s)
        return self._news(workspace)

    async def close(self) -> None:
        """Stop all checks."""
        await cancel_tasks(list(self._running))

    async def _groups(self, changes: Sequence[Change], workspace: Workspace) -> list[_Group]:
        groups: dict[tuple[str, Path], _Group] = {}
        workspace_root = workspace.root.resolve()
        for change in changes:
            with suppress(LanguageServerError):
                for found in await self._servers.find(change.path, workspace_root):
                    root = found.server.root_of(change.path, workspace_root)
                    group = groups.setdefault((found.server.name, root), _Group(found, root, []))
                    group.changes.append(change)
        return list(groups.values())

    def _start(self, group: _Group, workspace: Workspace) -> asyncio.Task[None]:
        task = asyncio.create_task(self._check(group, workspace))
        self._running[task] = group.keys
        task.add_done_callback(self._ended)
        return task

    def _ended(self, task: asyncio.Task[None]) -> None:
        del self._running[task]
        if not task.cancelled() and (error := task.exception()) is not None:
            level = logging.INFO if isinstance(error, LanguageServerError | WorkspaceError) else logging.ERROR
            logger.log(level, "a check after an edit failed", exc_info=error)

    async def _check(self, group: _Group, workspace: Workspace) -> None:
        connection = await self._servers.start(group.found, group.root, workspace.root.resolve())
        from tools.lsp.operations import current_diagnostics  # a server has started

        paths = {change.path for change in group.changes}
        async with connection.lock:
            await self._take_baselines(connection, group.changes)
            others = await _other_problems(connection, paths)
            await connection.announce_changes((change.path, change.old is None) for change in group.changes)
            documents = {path: await connection.documents.sync(path, workspace) for path in paths}
            await connection.documents.sync_all(workspace)
        for path, document in documents.items():
            self._take(path, connection, await current_diagnostics(connection, path, document, _CHECK_S))
        for path, problems in (await _other_problems(connection, paths, others)).items():
            key = (path, connection.name)
            self._reported.setdefault(key, others[path])
            self._current[key] = problems

    async def _take_baselines(self, connection: Connection, changes: Sequence[Change]) -> None:
        """Find out the problems of changed files before their first change."""
        from tools.lsp.operations import current_diagnostics  # a server has started

        opened: dict[Path, Document] = {}
        for change in changes:
            key = (change.path, connection.name)
            if change.old is None:
                self._reported.setdefault(key, ())
            elif key not in self._reported:
                opened[change.path] = connection.documents.open_with(change.path, change.old)
        with suppress(TimeoutError):
            async with asyncio.timeout(_BASELINE_S):
                for path, document in opened.items():
                    self._take(path, connection, await current_diagnostics(connection, path, document, _BASELINE_S))

    def _take(self, path: Path, connection: Connection, items: Sequence[Diagnostic] | None) -> None:
        """Take over the diagnostics of a file, if the server has sent them; the first ones are not news."""
        from tools.lsp.diagnostics import problems_of  # a server has started

        if items is not None:
            key, problems = (path, connection.name), problems_of(items, connection.name)
            self._reported.setdefault(key, problems)
            self._current[key] = problems

    def _news(self, workspace: Workspace) -> list[EditNote]:
        """Return the errors that are new since the last report, of files that are not being checked."""
        busy = {key for keys in self._running.values() for key in keys}
        rows: list[str] = []
        for key, problems in sorted(self._current.items()):
            if key not in busy:
                rows += self._new_rows(key, problems, workspace)
        if not rows:
            return []
        more = [f"[{len(rows) - MAX_LINES} more; the lsp tool lists all]"] if len(rows) > MAX_LINES else []
        return [EditNote("\n".join(["New errors after this edit:", *rows[:MAX_LINES], *more]), is_problem=True)]

    def _new_rows(self, key: _Key, problems: Sequence[Problem], workspace: Workspace) -> list[str]:
        from tools.lsp.diagnostics import new_problems  # a server has started

        new = new_problems(self._reported.get(key, ()), problems)
        self._reported[key] = problems
        return [f"{workspace.display(key[0])}:{each}" for each in new if each.severity == _ERROR]


async def _other_problems(
    connection: Connection, changed: Set[Path], among: Container[Path] | None = None
) -> dict[Path, Sequence[Problem]]:
    """Return the problems of open files that have not changed, but may depend on those that have.

    Args:
        connection: The server.
        changed: The files that have changed.
        among: Files to consider; None for all.
    """
    from tools.lsp.diagnostics import problems_of  # a server has started
    from tools.lsp.requested_diagnostics import checks_dependents, requested_diagnostics, returns_diagnostics

    documents = {
        path: document
        for path, document in connection.documents.open.items()
        if path not in changed and (among is None or path in among)
    }
    if not returns_diagnostics(connection):
        published = connection.published
        return {path: problems_of(published.known(path), connection.name) for path in documents if published.has(path)}
    if not checks_dependents(connection):
        return {}
    latest = list(documents.items())[-_MAX_OTHERS:]
    return {
        path: problems_of(await requested_diagnostics(connection, path, document.uri, _CHECK_S), connection.name)
        for path, document in latest
    }


if TYPE_CHECKING:
    _: Callable[[LanguageServers], PostEditStep] = EditCheck
