"""Limits of subagents: concurrency, tokens, one question to the user at a time, and the hooks of their parent."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager

from msgspec import Struct

from harness.agent.limits import is_reached
from harness.agent.options import Subagents
from harness.agent.run_state import Run
from harness.messages import AssistantMessage, Message
from harness.ports.hooks import Hooks, Stop
from harness.ports.tool import Role

SPENT = "The token budget of the subagents is spent."


class SharedLimits:
    def __init__(self, limits: Subagents) -> None:
        self.limits = limits
        self.asking = asyncio.Lock()
        self.slots = asyncio.Semaphore(max(1, limits.max_concurrent))
        self.budget = TokenBudget(limits.token_budget)


class ConcurrencySlot:
    """Concurrency slot, released while its owner waits for subagents of its own.

    Otherwise all slots could be held by agents that wait for one.
    """

    def __init__(self, semaphore: asyncio.Semaphore) -> None:
        self._semaphore = semaphore
        self._is_acquired = False
        self._waits = 0

    async def __aenter__(self) -> ConcurrencySlot:
        await self._semaphore.acquire()
        self._is_acquired = True
        return self

    async def __aexit__(self, *_: object) -> None:
        self._release()

    @asynccontextmanager
    async def released(self) -> AsyncGenerator[None]:
        """Release the slot in this block and acquire one again afterwards, unless the block was cancelled."""
        self._waits += 1
        self._release()
        try:
            yield
        finally:
            self._waits -= 1
        if not self._waits:
            await self._reacquire()

    async def _reacquire(self) -> None:
        await self._semaphore.acquire()
        # Meanwhile the slot may have been released or acquired by another task of the owner.
        if self._waits or self._is_acquired:
            self._semaphore.release()
        else:
            self._is_acquired = True

    def _release(self) -> None:
        if self._is_acquired:
            self._is_acquired = False
            self._semaphore.release()


class SpawnContext(Struct, frozen=True):
    """Link between a subagent and the run it works for."""

    parent: Run
    """The run it works for."""
    limits: SharedLimits
    """Limits shared by all subagents."""
    slot: ConcurrencySlot
    """Its concurrency slot."""


class TokenBudget:
    """Tokens shared by all subagents; a `limit` of 0 is unlimited.

    A subagent reserves an estimated number of tokens when it starts, and returns what it does not use.
    """

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self.used = 0
        self.reserved = 0
        self._returned = asyncio.Event()

    @property
    def left(self) -> int:
        """Tokens that are neither used nor reserved."""
        return max(0, self.limit - self.used - self.reserved)

    @property
    def is_spent(self) -> bool:
        return is_reached(self.limit, self.used)

    async def acquire(self, tokens: int, *, waits: bool) -> TokenReservation | None:
        """Reserve tokens, fewer if not enough are left; None if the budget is spent.

        With `waits`, wait while others may still return tokens. A subagent that another holder of a reservation waits
        for must not wait itself.
        """
        if not self.limit:
            return TokenReservation(self, 0)
        while waits and self.reserved and self.left < tokens:
            self._returned.clear()
            await self._returned.wait()
        if self.is_spent:
            return None
        tokens = min(tokens, self.left)
        self.reserved += tokens
        return TokenReservation(self, tokens)

    def count(self, used: int, returned: int) -> None:
        """Count used tokens, and tokens that are no longer reserved."""
        self.used += used
        self.reserved -= returned
        self._returned.set()


class TokenReservation(Hooks):
    """Tokens reserved by one subagent, as a hook that counts its tokens and stops it once the shared budget is spent.

    It may use more than it reserved, which leaves less for the others.
    """

    def __init__(self, budget: TokenBudget, tokens: int) -> None:
        self.budget = budget
        self._reserved = tokens

    async def after_model(self, reply: AssistantMessage) -> None:
        self.use(reply.usage.context)

    async def before_turn(self, messages: Sequence[Message], turn: int) -> Stop | None:
        return Stop(SPENT) if turn > 1 and self.budget.is_spent else None

    def use(self, tokens: int) -> None:
        returned = min(tokens, self._reserved)
        self._reserved -= returned
        self.budget.count(tokens, returned)

    def close(self) -> None:
        """Return the tokens that were not used."""
        returned, self._reserved = self._reserved, 0
        self.budget.count(0, returned)


FORWARDED = (
    "before_turn",
    "before_model",
    "after_model",
    "before_tool",
    "reviews",
    "after_tool",
    "before_update",
    "after_update",
    "on_error",
)


class InheritedHooks(Hooks):
    """Applies a hook to the turns, requests and calls of a subagent, so that it cannot do what its parent may not.

    The start and end of the loop are reported for the parent only, and so is the end of a turn unless the hook is
    shared.
    """

    def __init__(self, hooks: Hooks) -> None:
        self.counts_cost = hooks.counts_cost
        self.is_shared = hooks.is_shared
        for name in (*FORWARDED, *(("after_turn",) if hooks.is_shared else ())):
            setattr(self, name, getattr(hooks, name))
        # For its subagents as for it.
        self.before_stop = self.before_subagent_stop = hooks.before_subagent_stop


def inherited(run: Run, reservation: TokenReservation, agent_id: str, role: Role) -> list[Hooks]:
    """Return the hooks of a subagent.

    Hooks with counts apply twice, with the parent's count and with a new one; shared hooks with the parent's only.
    """
    hooks = [hook for hook in run.hooks.hooks if not isinstance(hook, TokenReservation)]
    parents = [hook.for_subagent(agent_id, role.name) or InheritedHooks(hook) for hook in hooks]
    own = [hook for hook in run.options.hooks if not hook.is_shared and hook.for_run() is not hook]
    named = [hook.for_subagent(agent_id, role.name) or hook for hook in role.hooks]
    return [*parents, *own, *named, *([reservation] if reservation.budget.limit else [])]
