"""Hooks of a run as they apply to its subagents."""

from __future__ import annotations

from collections.abc import Sequence

from harness.agent.run import Run
from harness.agent.subagents.limits import SPENT, TokenReservation
from harness.messages import AssistantMessage, Message, ToolCall, ToolResult
from harness.ports.hooks import CallVerdict, Hooks, Stop, TurnVerdict
from harness.ports.provider import Request
from harness.views import View


def inherited(run: Run, reservation: TokenReservation) -> list[Hooks]:
    """Return the hooks of a subagent. Hooks with counts apply twice: with the parent's count, and with a new one."""
    parents = [InheritedHooks(hook) for hook in run.hooks.hooks if not isinstance(hook, Spending)]
    own = [hook for hook in run.options.hooks if hook.for_run() is not hook]
    return [*parents, *own, *([Spending(reservation)] if reservation.budget.limit else [])]


class InheritedHooks(Hooks):
    """Applies a hook to the turns, requests and calls of a subagent, so that it cannot do what its parent may not.

    The start and end of the loop and the end of a turn are reported for the parent only.
    """

    def __init__(self, hooks: Hooks) -> None:
        self._hooks = hooks
        self.counts_cost = hooks.counts_cost

    async def before_turn(self, messages: Sequence[Message], turn: int) -> TurnVerdict:
        return await self._hooks.before_turn(messages, turn)

    async def before_model(self, request: Request) -> Request:
        return await self._hooks.before_model(request)

    async def after_model(self, reply: AssistantMessage) -> None:
        await self._hooks.after_model(reply)

    async def before_tool(self, call: ToolCall) -> CallVerdict:
        return await self._hooks.before_tool(call)

    async def after_tool(self, call: ToolCall, result: ToolResult) -> None:
        await self._hooks.after_tool(call, result)

    def before_update(self, call: ToolCall, view: View) -> bool:
        return self._hooks.before_update(call, view)

    def after_update(self, call: ToolCall, view: View) -> None:
        self._hooks.after_update(call, view)

    async def on_error(self, error: str) -> None:
        await self._hooks.on_error(error)


class Spending(Hooks):
    """Counts the tokens of a subagent, and stops it once the shared budget is spent."""

    def __init__(self, reservation: TokenReservation) -> None:
        self._reservation = reservation

    async def after_model(self, reply: AssistantMessage) -> None:
        self._reservation.use(reply.usage.context)

    async def before_turn(self, messages: Sequence[Message], turn: int) -> Stop | None:
        return Stop(SPENT) if turn > 1 and self._reservation.budget.is_spent else None
