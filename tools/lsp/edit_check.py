"""New errors after an edit, from language servers."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

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
    from tools.lsp.connection import Connection
    from tools.lsp.diagnostics import Problem

logger = logging.getLogger(__name__)

DELAY_S = 1.5
"""Seconds that an edit waits for diagnostics; those that come later are reported after the next edit."""
MAX_LINES = 20
_BASELINE_S = 10.0
_CHECK_S = 30.0
_ERROR = 1

_Key: TypeAlias = tuple[Path, str]
"""A file, and the name of a server."""


class EditCheck:
    """Reports errors that a file did not have before; a step after changes of files.

    The first edit in a language starts its server in the background.
    """

    def __init__(self, servers: LanguageServers, delay_s: float = DELAY_S) -> None:
        self._servers = servers
        self._delay_s = delay_s
        self._reported: dict[_Key, Sequence[Problem]] = {}
        """Problems before the first edit, or as they were reported last."""
        self._current: dict[_Key, Sequence[Problem]] = {}
        self._running: dict[asyncio.Task[None], _Key] = {}

    async def __call__(self, changes: Sequence[Change], context: ToolContext) -> list[EditNote]:
        """Check files that have changed, and return their new errors."""
        if not self._servers.options.diagnostics_after_edits:
            return []
        workspace = context.workspace
        started: list[asyncio.Task[None]] = []
        for change in changes:
            with suppress(LanguageServerError):
                for found in await self._servers.find(change.path, workspace.root.resolve()):
                    started.append(self._start(found, change, workspace))
        if started:
            await asyncio.wait(started, timeout=self._delay_s)
        return self._news(workspace)

    async def close(self) -> None:
        """Stop all checks."""
        await cancel_tasks(list(self._running))

    def _start(self, found: FoundServer, change: Change, workspace: Workspace) -> asyncio.Task[None]:
        task = asyncio.create_task(self._check(found, change, workspace))
        self._running[task] = (change.path, found.server.name)
        task.add_done_callback(self._ended)
        return task

    def _ended(self, task: asyncio.Task[None]) -> None:
        del self._running[task]
        if not task.cancelled() and (error := task.exception()) is not None:
            level = logging.INFO if isinstance(error, LanguageServerError | WorkspaceError) else logging.ERROR
            logger.log(level, "a check after an edit failed", exc_info=error)

    async def _check(self, found: FoundServer, change: Change, workspace: Workspace) -> None:
        root = workspace.root.resolve()
        connection = await self._servers.start(found, found.server.root_of(change.path, root), root)
        from tools.lsp.diagnostics import problems_of  # a server has started
        from tools.lsp.operations import current_diagnostics  # a server has started

        key = (change.path, found.server.name)
        async with connection.lock:
            if key not in self._reported:
                self._reported[key] = await _problems_before(connection, change)
            connection.documents.changed([(change.path, change.old is None)])
            document = await connection.documents.sync(change.path, workspace)
        items = await current_diagnostics(connection, change.path, document, _CHECK_S)
        if items is not None:
            self._current[key] = problems_of(items, connection.name)

    def _news(self, workspace: Workspace) -> list[EditNote]:
        """Return the errors that are new since the last report, of files that are not being checked."""
        busy = set(self._running.values())
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


async def _problems_before(connection: Connection, change: Change) -> Sequence[Problem]:
    """Return the problems of a file before a change."""
    from tools.lsp.diagnostics import problems_of  # a server has started
    from tools.lsp.operations import current_diagnostics  # a server has started

    if change.old is None:
        return ()
    document = connection.documents.open_with(change.path, change.old)
    items = await current_diagnostics(connection, change.path, document, _BASELINE_S)
    return problems_of(items or (), connection.name)


if TYPE_CHECKING:
    _: Callable[[LanguageServers], PostEditStep] = EditCheck
