"""Tools of the APIs in the configuration, offered to the agent of a start."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import TYPE_CHECKING

from cinch_tui.permissions import is_enabled
from harness.concurrency import cancel_tasks
from harness.terminal_text import escape_controls

if TYPE_CHECKING:
    from cinch_tui.config.options import Options
    from cinch_tui.config.settings import Settings
    from harness.agent.agent import Agent
    from tools.openapi import LoadedApi, OpenApiTools

STARTUP_WAIT_S = 3.0
"""Seconds that an interactive start waits for documents; those that take longer are loaded in the background."""
MOST_REASONS = 3


class ApiTools:
    """APIs whose tools an agent has."""

    def __init__(self, agent: Agent) -> None:
        self._agent = agent
        self._publish_notice = agent.notify
        self._apis: OpenApiTools | None = None
        self._loading: asyncio.Task[list[str]] | None = None
        self._names: tuple[str, ...] = ()

    async def load(self, options: Options, settings: Settings) -> list[str]:
        """Offer the tools of all APIs in place of those offered before, and return notices for the user.

        An interactive start does not wait long: a reminder announces tools that come later.
        """
        if not options.apis and not self._names:
            return []
        from cinch_tui.config.api_tables import read_apis

        await self.close()
        apis, problems = read_apis(options.apis, options.environ)
        # Named before the first request, so that tools that come later can be found.
        self._names = tuple(dict.fromkeys((*self._names, *(api.name for api in apis))))
        for name in self._names:
            self._agent.set_source_tools(_source(name), ())
        if not apis:
            return problems
        from tools.openapi import OpenApiTools

        self._apis = OpenApiTools(*apis)
        self._loading = asyncio.create_task(self._load(self._apis, settings))
        done, _ = await asyncio.wait([self._loading], timeout=None if options.headless else STARTUP_WAIT_S)
        if done:
            return [*problems, *self._loading.result()]
        self._loading.add_done_callback(self._report)
        return problems

    async def close(self) -> None:
        """Stop loading and close the connections."""
        if self._loading is not None:
            await cancel_tasks([self._loading])
        if self._apis is not None:
            await self._apis.close()
        self._loading = self._apis = None

    async def _load(self, apis: OpenApiTools, settings: Settings) -> list[str]:
        await apis.load_available()
        for loaded in apis.loaded:
            offered = [tool for tool in loaded.tools if is_enabled(tool, settings)]
            self._agent.set_source_tools(_source(loaded.api.name), offered)
        return [notice for loaded in apis.loaded for notice in notices_of(loaded)]

    def _report(self, loading: asyncio.Task[list[str]]) -> None:
        if not loading.cancelled():
            for notice in loading.result():
                self._publish_notice(notice, "warning")


def _source(name: str) -> str:
    """Return the name of an API for the model."""
    return f"the API {name}"


def notices_of(loaded: LoadedApi) -> Iterator[str]:
    """Yield what the user should know about an API: problems, and operations that are not offered."""
    name = f"API {loaded.api.name}"
    yield from (escape_controls(f"{name}: {problem}") for problem in loaded.problems)
    by_reason: dict[str, list[str]] = {}
    for skipped in loaded.skipped:
        by_reason.setdefault(skipped.reason, []).append(skipped.operation)
    if by_reason:
        shown = [f"{_few(operations)}: {reason}" for reason, operations in by_reason.items()][:MOST_REASONS]
        more = f"; see cinch openapi list {loaded.api.name}" if len(by_reason) > MOST_REASONS else ""
        count = len(loaded.skipped)
        text = f"{name}: {count} operation{'s are' if count > 1 else ' is'} not offered: {'; '.join(shown)}{more}"
        yield escape_controls(text)


def _few(operations: list[str]) -> str:
    return operations[0] if len(operations) == 1 else f"{operations[0]} and {len(operations) - 1} more"
