"""Hooks: the points of a run where user code may observe or change it.

Strict order; each hook wraps its events, as in phi-core, and AgentEnd comes exactly once on every path:
before_loop → AgentStart, [before_turn → TurnStart, messages, before_model → RequestStart … MessageEnd → after_model,
[before_tool → ToolExecutionStart, [before_update → ToolExecutionUpdate → after_update], ToolExecutionEnd → after_tool],
tool result messages, TurnEnd → after_turn], AgentEnd → after_loop.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

from harness.events import AgentEnd, TurnEnd
from harness.lazy_dataclass import dataclass
from harness.messages import AssistantMessage, JsonObject, Message, ToolCall, ToolResult
from harness.ports.provider import Request
from harness.views import View


@dataclass(frozen=True, slots=True)
class Stop:
    """Ends the run successfully, with stop reason `stop` and limit `policy`."""

    reason: str = ""
    """Becomes the run's `stop_message`."""


@dataclass(frozen=True, slots=True)
class Inject:
    """Continues the run with a synthetic message to the model in the next turn."""

    text: str
    """Text of the message."""


@dataclass(frozen=True, slots=True)
class Block:
    """Keeps the call from running."""

    reason: str
    """Becomes the result of the call."""


@dataclass(frozen=True, slots=True)
class Modify:
    """Runs the call with other arguments, which are validated and approved as if the model had sent them."""

    arguments: JsonObject
    """Replacement arguments."""


TurnVerdict: TypeAlias = Stop | Inject | None
CallVerdict: TypeAlias = Block | Modify | Inject | None


class Hooks:
    """Base class of hooks; every method does nothing. Override the ones you need.

    Hooks run in order; the first `Stop`, `Block` or False ends the sequence. A hook that raises before a call blocks
    it, one that raises before a run or turn stops the run; a failure after that is only reported in `HookRan`. The run
    waits for each hook, so none may take long.
    """

    counts_cost: bool = False
    """True if replies have to be priced before the next step; the first price lookup may delay the run."""

    def for_run(self) -> Hooks:
        """Return the hook for one run: `self`, or a fresh instance if the hook keeps counts.

        Several agents with the same options may run concurrently.
        """
        return self

    async def before_loop(self, messages: Sequence[Message], loop_index: int) -> Stop | None:
        """Run before `AgentStart`; `Stop` publishes an `AgentEnd` without messages. `loop_index` counts runs from 0."""
        del messages, loop_index
        return None

    async def after_loop(self, end: AgentEnd) -> None:
        """Run after `AgentEnd`, on every path."""

    async def before_turn(self, messages: Sequence[Message], turn: int) -> TurnVerdict:
        """Run before `TurnStart`; `Stop` ends the run without another turn event. `turn` counts from 1 in this run."""
        del messages, turn
        return None

    async def after_turn(self, end: TurnEnd) -> TurnVerdict:
        """Run after `TurnEnd`; `Stop` ends the run, `Inject` continues it with another message."""
        del end
        return None

    async def before_model(self, request: Request) -> Request:
        """Run before each model call; the returned request is sent."""
        return request

    async def after_model(self, reply: AssistantMessage) -> None:
        """Run after each reply, failed ones included."""

    async def before_tool(self, call: ToolCall) -> CallVerdict:
        """Run before an approved call; `Block` answers it without any tool event."""
        del call
        return None

    async def after_tool(self, call: ToolCall, result: ToolResult) -> None:
        """Run after the call's `ToolExecutionEnd`."""

    def before_update(self, call: ToolCall, view: View) -> bool:
        """Run before a progress update of a call; False hides the update from observers."""
        del call, view
        return True

    def after_update(self, call: ToolCall, view: View) -> None:
        """Run after a progress update that was published."""

    async def on_error(self, error: str) -> None:
        """Run when a model call failed after all retries."""
