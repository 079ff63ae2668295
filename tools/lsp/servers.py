"""Language servers of one start: each is started when it is first used, once for each root folder.

pygls is imported with the first server: it takes a third of a second and 30 MB.
"""

from __future__ import annotations

import asyncio
import logging
import os
from collections.abc import Awaitable
from contextlib import suppress
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from msgspec import Struct

from harness.concurrency import cancel_tasks
from harness.errors import LanguageServerError
from tools.lsp.options import FoundServer, LspOptions, MissingTrust, installed_servers, names_in, servers_for

if TYPE_CHECKING:
    from tools.child_process import Program
    from tools.lsp.connection import Connection

logger = logging.getLogger(__name__)

MAX_CRASHES = 3
"""Unexpected ends of a server, one soon after the other, after which it is not started again."""
_STABLE_S = 600.0
"""Seconds of work after which earlier unexpected ends do not count."""
_CLOSE_S = 5.0

_Key: TypeAlias = tuple[str, Path]


class _Running(Struct):
    connection: Connection
    task: asyncio.Task[None]
    timer: asyncio.TimerHandle | None = None
    """Stops the server when it was not used for long."""
    is_stopped: bool = False
    """True if this program stops it."""
    since: float = 0.0
    """Time of the loop when it was started."""


class LanguageServers:
    """The language servers of one start."""

    def __init__(self, options: LspOptions, version: str = "") -> None:
        self.options = options
        self._version = version
        self._running: dict[_Key, _Running] = {}
        self._crashes: dict[_Key, int] = {}
        self._last_crash: dict[_Key, str] = {}
        """Reasons why servers ended that have to be started again."""
        self._starting = asyncio.Lock()

    async def for_file(self, path: Path, workspace: Path) -> list[Connection]:
        """Return the servers for a file, ready for use; those that fail are left out if another one works.

        Raises:
            LanguageServerError: There is none, or all fail.
        """
        found = await self.find(path, workspace)
        return await _all_ready([self.start(each, each.server.root_of(path, workspace), workspace) for each in found])

    async def find(self, path: Path, workspace: Path) -> list[FoundServer]:
        """Return the installed servers for a file.

        Raises:
            LanguageServerError: There is none that may be started.
        """
        found = await asyncio.to_thread(lambda: list(servers_for(path, workspace, self.options)))
        usable = [each for each in found if isinstance(each, FoundServer)]
        if usable:
            return usable
        held = [each.server.name for each in found if isinstance(each, MissingTrust)]
        if held:
            raise _untrusted(held[0])
        names = [each.command[0] for each in self.options.servers if each.language_id(path)]
        known = f"; cinch looks for {', '.join(names)} on PATH" if names else ""
        raise LanguageServerError(f"No language server for {path.name} is installed{known}.")

    async def for_workspace(self, workspace: Path) -> list[Connection]:
        """Return the servers that run in a workspace; if there are none, those whose root markers it contains.

        Raises:
            LanguageServerError: There are none, or all fail.
        """
        running = [each for each in self._running.values() if not each.connection.has_ended]
        own = [each for each in running if _is_within(each.connection.launch.root, workspace)]
        if own:
            for each in own:
                self._touch(each)
            return await _all_ready([self._ready(each.connection) for each in own])
        found = await asyncio.to_thread(self._suitable, workspace)
        if not found:
            raise LanguageServerError("No language server runs yet; give the path of a file in the language.")
        usable = [each for each in found if self.options.is_trusted() or not each.server.runs_code]
        if not usable:
            raise _untrusted(found[0].server.name)
        return await _all_ready([self.start(each, workspace, workspace) for each in usable])

    def _suitable(self, workspace: Path) -> list[FoundServer]:
        names = names_in(workspace)
        served: set[str] = set()
        suitable: list[FoundServer] = []
        for each in installed_servers(workspace, self.options):
            if each.server.has_marker(names) and not served.intersection(each.server.languages):
                served.update(each.server.languages)
                suitable.append(each)
        return suitable

    async def start(self, found: FoundServer, root: Path, workspace: Path) -> Connection:
        """Return a server that runs in a folder, started if necessary, ready for use.

        Raises:
            LanguageServerError: It fails.
        """
        key = (found.server.name, root)
        async with self._starting:
            running = self._alive(key)
            if running is None:
                crash = self._last_crash.pop(key, "")
                running = self._running[key] = await self._started(found, root, workspace)
                running.connection.restart_note = f"[{crash} It has been restarted.]" if crash else ""
        self._touch(running)
        return await self._ready(running.connection)

    def is_running(self, found: FoundServer, root: Path) -> bool:
        """Return True if a server is ready for use."""
        running = self._running.get((found.server.name, root))
        return running is not None and running.connection.is_ready

    async def close(self) -> None:
        """Stop all servers."""
        running, self._running = list(self._running.values()), {}
        for each in running:
            self._stop(each)
        tasks = [each.task for each in running]
        if tasks:
            await asyncio.wait(tasks, timeout=_CLOSE_S)
        await cancel_tasks(tasks)

    async def _ready(self, connection: Connection) -> Connection:
        await connection.ready()
        return connection

    def _alive(self, key: _Key) -> _Running | None:
        """Return a running server; None if it has to be started.

        Raises:
            LanguageServerError: It has ended too often.
        """
        running = self._running.get(key)
        if running is None or not running.connection.has_ended:
            return running
        del self._running[key]
        if running.is_stopped:
            return None
        is_stable = asyncio.get_running_loop().time() - running.since > _STABLE_S
        self._crashes[key] = 1 if is_stable else self._crashes.get(key, 0) + 1
        self._last_crash[key] = running.connection.error
        if self._crashes[key] >= MAX_CRASHES:
            # Kept, so that the next use reports the same.
            self._running[key] = running
            raise LanguageServerError(f"{running.connection.error} It has failed {MAX_CRASHES} times and is not used.")
        return None

    async def _started(self, found: FoundServer, root: Path, workspace: Path) -> _Running:
        # The module with all that uses pygls, which is large: importing it in this thread would stop the screen.
        await asyncio.to_thread(import_module, "tools.lsp.operations")
        from tools.lsp.connection import Connection, Launch

        program = await asyncio.to_thread(self._program, found, root, workspace)
        connection = Connection(Launch(found.server, program, root, self._version))
        task = asyncio.create_task(connection.run())
        task.add_done_callback(_log_error)
        return _Running(connection, task, since=asyncio.get_running_loop().time())

    def _program(self, found: FoundServer, root: Path, workspace: Path) -> Program:
        # Not before the first server: every start imports this module.
        from harness.approval.paths import safe_path
        from tools.child_process import Program
        from tools.environment import command_environment

        options = self.options
        environment = command_environment(options.environment, options.secrets())
        if not options.is_trusted():
            searched = safe_path(environment.get("PATH", os.defpath), str(workspace.resolve()))
            environment["PATH"] = os.pathsep.join(searched)
        return Program((found.program, *found.server.command[1:]), root, {**environment, **found.server.env})

    def _touch(self, running: _Running) -> None:
        """Let a server run until it was not used for a while."""
        if running.timer is not None:
            running.timer.cancel()
        loop = asyncio.get_running_loop()
        running.timer = loop.call_later(self.options.idle_s, partial(self._stop, running))

    def _stop(self, running: _Running) -> None:
        running.is_stopped = True
        if running.timer is not None:
            running.timer.cancel()
        running.connection.stop()


def _log_error(task: asyncio.Task[None]) -> None:
    if not task.cancelled() and (error := task.exception()) is not None:
        logger.error("the connection to a language server failed", exc_info=error)


def _untrusted(name: str) -> LanguageServerError:
    return LanguageServerError(
        f"The language server {name} may run code of the project, so it starts only in a folder that the user trusts; "
        "the user can do that with /trust."
    )


def _is_within(root: Path, workspace: Path) -> bool:
    return root == workspace or workspace in root.parents


async def _all_ready(starting: list[Awaitable[Connection]]) -> list[Connection]:
    """Wait for servers at the same time, and return those that work.

    Raises:
        LanguageServerError: None works; the error of the first.
    """
    tasks = [asyncio.ensure_future(each) for each in starting]
    try:
        await asyncio.wait(tasks)
    finally:
        await cancel_tasks(tasks)
    ready: list[Connection] = []
    for task in tasks:
        with suppress(LanguageServerError):
            ready.append(task.result())
    return ready or [tasks[0].result()]
