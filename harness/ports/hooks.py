"""The points of a run where a hook may act, and what it may say there.

Strict order, each hook beside its events (phi-core's, with AgentEnd exactly once on every path):
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
    """The run ends here, and ends well: with stop reason `stop`, limit `policy` and `reason` as its `stop_message`."""

    reason: str = ""


@dataclass(frozen=True, slots=True)
class Inject:
    """Go on, and tell the model this, as a message of the program, at the next turn."""

    text: str


@dataclass(frozen=True, slots=True)
class Block:
    """The call does not run; `reason` is its result."""

    reason: str


@dataclass(frozen=True, slots=True)
class Modify:
    """The call runs with these arguments, which are checked and approved as if the model had sent them."""

    arguments: JsonObject


TurnVerdict: TypeAlias = Stop | Inject | None
CallVerdict: TypeAlias = Block | Modify | Inject | None


class Hooks:
    """Everything a hook may do, none of it done: inherit and write the methods you need.

    Several are asked in their order; the first `Stop`, `Block` or False ends the asking. One that raises before a call
    blocks it, one that raises before a loop or turn stops it; after that a failure is told to observers and nothing
    else. None may take long: a run waits for them.

    `counts_cost`: replies are not handed on before their price is known, which takes a moment once.
    """

    counts_cost: bool = False

    def for_run(self) -> Hooks:
        """The hook as it acts on one run: itself, or, where it counts something, one that begins at nothing. Runs of
        several agents with the same options go on side by side."""
        return self

    async def before_loop(self, messages: Sequence[Message], loop_index: int) -> Stop | None:
        """Before `AgentStart`: `Stop` leaves an `AgentEnd` without messages. `loop_index` counts the session's runs."""
        del messages, loop_index
        return None

    async def after_loop(self, end: AgentEnd) -> None:
        """After `AgentEnd`, on every path."""

    async def before_turn(self, messages: Sequence[Message], turn: int) -> TurnVerdict:
        """Before `TurnStart`: `Stop` ends the run without another turn event. `turn` counts from 1 in this run."""
        del messages, turn
        return None

    async def after_turn(self, end: TurnEnd) -> TurnVerdict:
        """After `TurnEnd`: `Stop` ends the run, `Inject` gives the model something to go on with."""
        del end
        return None

    async def before_model(self, request: Request) -> Request:
        """Before each request; what is handed back is sent."""
        return request

    async def after_model(self, reply: AssistantMessage) -> None:
        """After each reply, failed ones included."""

    async def before_tool(self, call: ToolCall) -> CallVerdict:
        """Before an approved call runs. `Block` answers it without any tool event."""
        del call
        return None

    async def after_tool(self, call: ToolCall, result: ToolResult) -> None:
        """After the call's `ToolExecutionEnd`."""

    def before_update(self, call: ToolCall, view: View) -> bool:
        """Before an update of a running call; False keeps it from observers, the tool runs on."""
        del call, view
        return True

    def after_update(self, call: ToolCall, view: View) -> None:
        """After an update that was not kept back."""

    async def on_error(self, error: str) -> None:
        """A request failed for good."""
