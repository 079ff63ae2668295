"""The hooks of a run, as they act on the sub-agents that work for it."""

from __future__ import annotations

from collections.abc import Sequence

from harness.agent.run import Run
from harness.agent.subagents.limits import SPENT, TokenReservation
from harness.messages import AssistantMessage, Message, ToolCall, ToolResult
from harness.ports.hooks import CallVerdict, Hooks, Stop, TurnVerdict
from harness.ports.provider import Request
from harness.views import View


def inherited(run: Run, share: TokenReservation) -> list[Hooks]:
    """The hooks of a sub-agent of this run. Those that count have the parent's count and one of their own."""
    parents = [InheritedHooks(hook) for hook in run.hooks.hooks if not isinstance(hook, Spending)]
    own = [hook for hook in run.options.hooks if hook.for_run() is not hook]
    return [*parents, *own, *([Spending(share)] if share.budget.limit else [])]


class InheritedHooks(Hooks):
    """What a hook has to say to turns, requests and calls it says to those of a sub-agent too, so that a sub-agent
    cannot do what its parent may not. The loop is the parent's alone, and so is the end of a turn."""

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
    """Counts what a sub-agent uses of its share; once the budget of all is spent, it takes no other turn."""

    def __init__(self, share: TokenReservation) -> None:
        self._share = share

    async def after_model(self, reply: AssistantMessage) -> None:
        self._share.use(reply.usage.context)

    async def before_turn(self, messages: Sequence[Message], turn: int) -> Stop | None:
        return Stop(SPENT) if turn > 1 and self._share.budget.is_spent else None
