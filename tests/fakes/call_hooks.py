"""Hooks around calls that record their arguments, or do what a test needs."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from harness.events import Event, HookRan, ToolExecutionEnd, ToolExecutionStart, ToolExecutionUpdate
from harness.messages import ToolCall, ToolResult
from harness.ports.hooks import CallVerdict, Hooks
from harness.views import View


class Watching(Hooks):
    """Hooks that record calls in the event list and return `verdict` for the tool of that name."""

    def __init__(self, verdicts: dict[str, CallVerdict] | None = None) -> None:
        self.reported: list[str] = []
        self.shows = True
        self._verdicts = verdicts or {}

    async def before_tool(self, call: ToolCall) -> CallVerdict:
        self.reported.append(f"before {call.name}")
        return self._verdicts.get(call.name)

    async def after_tool(self, call: ToolCall, result: ToolResult) -> None:
        self.reported.append(f"after {call.name}: {result.text}")

    def before_update(self, call: ToolCall, view: View) -> bool:
        self.reported.append(f"before update of {call.name}")
        return self.shows

    def after_update(self, call: ToolCall, view: View) -> None:
        self.reported.append(f"after update of {call.name}")

    def see(self, event: Event) -> None:
        if isinstance(event, ToolExecutionStart | ToolExecutionUpdate | ToolExecutionEnd | HookRan):
            self.reported.append(type(event).__name__)


class Acting(Hooks):
    """Hooks that run `before` and `after`."""

    def __init__(
        self,
        before: Callable[[ToolCall], Awaitable[CallVerdict]] | None = None,
        after: Callable[[ToolCall], Awaitable[None]] | None = None,
    ) -> None:
        self._before = before
        self._after = after

    async def before_tool(self, call: ToolCall) -> CallVerdict:
        return await self._before(call) if self._before else None

    async def after_tool(self, call: ToolCall, result: ToolResult) -> None:
        if self._after:
            await self._after(call)
