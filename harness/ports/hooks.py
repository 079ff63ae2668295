"""Hooks: the points of a run where user code may observe or change it.

Strict order; each hook wraps its events, as in phi-core, and AgentEnd comes exactly once on every path:
before_loop → AgentStart, [before_turn → TurnStart, messages, before_compact → CompactionStart … CompactionEnd,
before_model → RequestStart … MessageEnd → after_model,
[before_tool → ToolApprovalRequested → ToolApprovalResolved] for each call, then [ToolExecutionStart, [before_update →
ToolExecutionUpdate → after_update], ToolExecutionEnd → after_tool] for each allowed one, tool result messages,
TurnEnd → after_turn], before_stop, AgentEnd → after_loop.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from typing import TypeAlias, TypeVar

from msgspec import Struct
from msgspec.structs import replace

from harness.concurrency import is_cancelled, raise_if_cancelled
from harness.events import AgentEnd, CompactionTrigger, HookRan, TurnEnd
from harness.messages import AssistantMessage, JsonObject, Message, ToolCall, ToolResult
from harness.ports.provider import Request
from harness.publishing import Bus
from harness.views import View

logger = logging.getLogger(__name__)

_T = TypeVar("_T")


class Stop(Struct, frozen=True):
    """Ends the run successfully, with stop reason `stop` and limit `policy`."""

    reason: str = ""
    """Becomes the run's `stop_message`."""


class Inject(Struct, frozen=True):
    """Continues the run with a synthetic message to the model in the next turn."""

    text: str
    """Text of the message."""


class Block(Struct, frozen=True):
    """Prevents a call or a compaction."""

    reason: str
    """Becomes the result of the call."""


class Modify(Struct, frozen=True):
    """Runs the call with other arguments, which are validated and approved as if the model had sent them."""

    arguments: JsonObject
    """Replacement arguments."""


class AllowCall(Struct, frozen=True):
    """Allows the call without asking the user, except where no permission rule may allow it."""

    reason: str = ""
    """Reason, shown to users."""


class AskUser(Struct, frozen=True):
    """Requires the user's approval, whatever permission rules allow."""

    reason: str
    """Reason, shown in the approval dialog."""


TurnVerdict: TypeAlias = Stop | Inject | None
OneCallVerdict: TypeAlias = Block | Modify | Inject | AllowCall | AskUser
CallVerdict: TypeAlias = OneCallVerdict | Sequence[OneCallVerdict] | None
"""One verdict, or several that do not exclude each other, such as new arguments with an approval."""


class CallReview(Struct, frozen=True):
    """Verdicts of all hooks on one call."""

    outcome: Block | Modify | None = None
    """The first verdict that blocks or changes the call."""
    permission: AllowCall | AskUser | None = None
    """Verdict on the permission; `AskUser` takes precedence."""


class Hooks:
    """Base class of hooks; every method does nothing. Override the ones you need.

    Hooks run in order; the first `Stop`, `Block` or False ends the sequence. A hook that raises before a call blocks
    it, one that raises before a run or turn stops the run; a failure after that is only reported in `HookRan`. The run
    waits for each hook, so none may take long.
    """

    counts_cost: bool = False
    """True if replies have to be priced before the next step; the first price lookup may delay the run."""
    is_shared: bool = False
    """True if subagents share the instance of their agent's run, and its counts, instead of having their own."""

    def for_run(self) -> Hooks:
        """Return the hook for one run: `self`, or a fresh instance if the hook keeps counts.

        Several agents with the same options may run concurrently.
        """
        return self

    def for_subagent(self, agent_id: str, role: str) -> Hooks | None:
        """Return the hook for a subagent; None applies this one to its turns, requests and calls.

        Args:
            agent_id: Id of the subagent's session.
            role: Name of its role; empty for none.
        """
        return None

    async def before_loop(self, messages: Sequence[Message], loop_index: int) -> Stop | None:
        """Run before `AgentStart`; `Stop` publishes an `AgentEnd` without messages. `loop_index` counts runs from 0."""
        return None

    async def after_loop(self, end: AgentEnd) -> None:
        """Run after `AgentEnd`, on every path."""

    async def before_turn(self, messages: Sequence[Message], turn: int) -> TurnVerdict:
        """Run before `TurnStart`; `Stop` ends the run without another turn event, `Inject` adds a message to the turn.

        `turn` counts from 1 in this run.
        """
        return None

    async def after_turn(self, end: TurnEnd) -> TurnVerdict:
        """Run after `TurnEnd`; `Stop` ends the run, `Inject` continues it with another message."""
        return None

    async def before_model(self, request: Request) -> Request:
        """Run before each model call; the returned request is sent."""
        return request

    async def after_model(self, reply: AssistantMessage) -> None:
        """Run after each reply, failed ones included."""

    async def before_compact(self, trigger: CompactionTrigger, tokens: int) -> Block | Inject | None:
        """Run before a model summarizes older messages; `trigger` is the cause, `tokens` the length of the context.

        `Block` prevents the compaction, `Inject` adds instructions for the summary.
        """
        return None

    async def before_tool(self, call: ToolCall) -> CallVerdict:
        """Run before the user is asked about a call, unless a permission rule denies it.

        `Block` answers the call without any tool event. `AllowCall` and `AskUser` change whether the user is asked. All
        calls of a reply pass this point, in order, before the first one runs.
        """
        return None

    def reviews(self, tool_name: str) -> bool:
        """Return True if `before_tool` decides about calls of a tool; the model's service then never runs it.

        Calls that a service runs itself, such as its web search, pass neither `before_tool` nor `after_tool`.
        """
        return type(self).before_tool is not Hooks.before_tool

    async def after_tool(self, call: ToolCall, result: ToolResult) -> Inject | None:
        """Run after the call's `ToolExecutionEnd`; `Inject` adds a message after the results of the turn."""
        return None

    async def before_stop(self, reply: AssistantMessage) -> Inject | None:
        """Run when the run would end successfully with this reply; `Inject` continues it with another message."""
        return None

    async def before_subagent_stop(self, reply: AssistantMessage) -> Inject | None:
        """Run when a subagent would end successfully with this reply; `Inject` continues the subagent."""
        return None

    def before_update(self, call: ToolCall, view: View) -> bool:
        """Run before a progress update of a call; False hides the update from observers."""
        return True

    def after_update(self, call: ToolCall, view: View) -> None:
        """Run after a progress update that was published."""

    async def on_error(self, error: str) -> None:
        """Run when a model call failed after all retries."""


_Ask: TypeAlias = Callable[[Hooks], Awaitable[_T]]


class HookChain:
    """The hooks of a run as one. `inject` receives the messages they add to the next turn."""

    def __init__(self, hooks: Sequence[Hooks], bus: Bus, inject: Callable[[str], None]) -> None:
        self.hooks = tuple(hook.for_run() for hook in hooks)
        self._bus = bus
        self._inject = inject
        self._added = set[str]()

    def __bool__(self) -> bool:
        return bool(self.hooks)

    def add(self, name: str, hooks: Sequence[Hooks]) -> None:
        """Add hooks during the run, unless some were added with this name."""
        if name not in self._added:
            self._added.add(name)
            self.hooks = (*self.hooks, *(hook.for_run() for hook in hooks))

    @property
    def counts_cost(self) -> bool:
        return any(hook.counts_cost for hook in self.hooks)

    async def before_loop(self, messages: Sequence[Message], loop_index: int) -> Stop | None:
        return await self._turn("before_loop", lambda hook: hook.before_loop(messages, loop_index), fails=Stop)

    async def before_turn(self, messages: Sequence[Message], turn: int) -> Stop | None:
        return await self._turn("before_turn", lambda hook: hook.before_turn(messages, turn), fails=Stop)

    async def after_turn(self, end: TurnEnd) -> Stop | None:
        return await self._turn("after_turn", lambda hook: hook.after_turn(end))

    async def after_loop(self, end: AgentEnd) -> None:
        await self._notify("after_loop", lambda hook: hook.after_loop(end))

    async def before_model(self, request: Request) -> Request:
        for hook in self.hooks:
            changed = await self._attempt("before_model", partial(hook.before_model, request))
            if isinstance(changed, Request):
                request = changed
        return request

    async def after_model(self, reply: AssistantMessage) -> None:
        await self._notify("after_model", lambda hook: hook.after_model(reply))

    async def before_compact(self, trigger: CompactionTrigger, tokens: int) -> Block | str:
        """Return the first verdict that prevents a compaction, or the instructions of all hooks."""
        instructions: list[str] = []
        for hook in self.hooks:
            verdict = await self._attempt("before_compact", partial(hook.before_compact, trigger, tokens))
            if isinstance(verdict, Block):
                self._bus.publish(HookRan(point="before_compact", outcome="stopped", reason=verdict.reason))
                return verdict
            if isinstance(verdict, Inject):
                self._bus.publish(HookRan(point="before_compact", outcome="injected", reason=verdict.text))
                instructions.append(verdict.text)
        return "\n\n".join(instructions)

    async def on_error(self, error: str) -> None:
        await self._notify("on_error", lambda hook: hook.on_error(error))

    async def before_tool(self, call: ToolCall) -> CallReview:
        """Return the verdicts on a call. The first hook that blocks or changes it is the last one called."""
        permission: AllowCall | AskUser | None = None
        for hook in self.hooks:
            answer = await self._attempt("before_tool", partial(hook.before_tool, call), call.id)
            review = self._reviewed(call, _verdicts(answer))
            if isinstance(review.outcome, Modify) and isinstance(permission, AllowCall):
                # It was given for other arguments.
                permission = None
            permission = permission if isinstance(permission, AskUser) else review.permission or permission
            if review.outcome is not None:
                return CallReview(review.outcome, permission)
        return CallReview(permission=permission)

    def _reviewed(self, call: ToolCall, verdicts: Sequence[OneCallVerdict]) -> CallReview:
        """Return the verdicts of one hook; the strictest counts."""
        review = CallReview()
        for verdict in verdicts:
            match verdict:
                case Inject():
                    self._injected("before_tool", verdict, call.id)
                case Block():
                    review = replace(review, outcome=verdict)
                case Modify():
                    review = replace(review, outcome=review.outcome or verdict)
                case AllowCall() | AskUser():
                    self._permission(verdict, call)
                    review = review if isinstance(review.permission, AskUser) else replace(review, permission=verdict)
                case _:  # user-supplied code may return anything
                    problem = f"A hook returned no verdict, so the call did not run: {type(verdict).__name__}"
                    return CallReview(Block(problem))
        return review

    async def after_tool(self, call: ToolCall, result: ToolResult) -> None:
        await self._collect("after_tool", lambda hook: hook.after_tool(call, result), call.id)

    async def before_stop(self, reply: AssistantMessage) -> None:
        await self._collect("before_stop", lambda hook: hook.before_stop(reply))

    def before_update(self, call: ToolCall, view: View) -> bool:
        return all(self._shows(hook, call, view) for hook in self.hooks)

    def after_update(self, call: ToolCall, view: View) -> None:
        for hook in self.hooks:
            try:
                hook.after_update(call, view)
            except Exception as error:  # noqa: BLE001  user-supplied code; may raise
                self._failed("after_update", error, call.id)

    def blocked(self, call: ToolCall, result: ToolResult) -> None:
        """Publish a call that a hook answered; it has no other event."""
        self._bus.publish(
            HookRan(point="before_tool", outcome="blocked", reason=result.text, call_id=call.id, result=result)
        )

    def modified(self, call: ToolCall) -> None:
        self._bus.publish(HookRan(point="before_tool", outcome="modified", call_id=call.id))

    def _permission(self, verdict: AllowCall | AskUser, call: ToolCall) -> None:
        outcome = "allowed" if isinstance(verdict, AllowCall) else "asked"
        self._bus.publish(HookRan(point="before_tool", outcome=outcome, reason=verdict.reason, call_id=call.id))

    async def _turn(
        self, point: str, ask: _Ask[TurnVerdict], *, fails: Callable[[str], Stop] | None = None
    ) -> Stop | None:
        """Return the first `Stop`; `fails` converts an error where the run must not continue unchecked."""
        for hook in self.hooks:
            verdict = await self._attempt(point, partial(ask, hook))
            if isinstance(verdict, Exception):
                verdict = fails(f"a hook failed: {verdict}") if fails else None
            if isinstance(verdict, Inject):
                self._injected(point, verdict)
            elif isinstance(verdict, Stop):
                self._bus.publish(HookRan(point=point, outcome="stopped", reason=verdict.reason))
                return verdict
        return None

    async def _collect(self, point: str, ask: _Ask[Inject | None], call_id: str = "") -> None:
        """Call all hooks and inject what they return."""
        for hook in self.hooks:
            verdict = await self._attempt(point, partial(ask, hook), call_id)
            if isinstance(verdict, Inject):
                self._injected(point, verdict, call_id)

    async def _notify(self, point: str, ask: _Ask[None]) -> None:
        for hook in self.hooks:
            await self._attempt(point, partial(ask, hook))

    async def _attempt(self, point: str, ask: Callable[[], Awaitable[_T]], call_id: str = "") -> _T | Exception:
        answer: _T | Exception
        try:
            # A function that is not async raises when it is called.
            answer = await ask()
        except asyncio.CancelledError as error:
            if is_cancelled(asyncio.current_task()):
                raise
            answer = RuntimeError("the hook was cancelled from within")
            answer.__cause__ = error
            self._failed(point, answer, call_id)
        except Exception as error:  # noqa: BLE001  user-supplied code; may raise
            self._failed(point, error, call_id)
            answer = error
        # A hook may swallow the cancellation; the next one must not be awaited then.
        raise_if_cancelled()
        return answer

    def _shows(self, hook: Hooks, call: ToolCall, view: View) -> bool:
        try:
            return hook.before_update(call, view)
        except Exception as error:  # noqa: BLE001  user-supplied code; may raise
            self._failed("before_update", error, call.id)
            return True

    def _injected(self, point: str, verdict: Inject, call_id: str = "") -> None:
        self._inject(verdict.text)
        self._bus.publish(HookRan(point=point, outcome="injected", reason=verdict.text, call_id=call_id))

    def _failed(self, point: str, error: Exception, call_id: str = "") -> None:
        logger.error("a hook failed at %s", point, exc_info=error)
        reason = f"{type(error).__name__}: {error}"
        self._bus.publish(HookRan(point=point, outcome="failed", reason=reason, call_id=call_id))


def _verdicts(answer: CallVerdict | Exception) -> Sequence[OneCallVerdict]:
    """Return the verdicts of one hook; an error blocks the call."""
    if isinstance(answer, Exception):
        return (Block(f"A hook failed, so the call did not run: {answer}"),)
    if answer is None:
        return ()
    return tuple(answer) if isinstance(answer, (list, tuple)) else (answer,)  # pyright: ignore[reportReturnType] user-supplied code may return anything
