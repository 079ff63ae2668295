"""Limits that all subagents of a run share: concurrency, tokens, and one question to the user at a time."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from types import TracebackType

from harness.agent.options import Subagents

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
        self._is_held = False
        self._waits = 0

    async def __aenter__(self) -> ConcurrencySlot:
        await self._semaphore.acquire()
        self._is_held = True
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._release()

    @asynccontextmanager
    async def released(self) -> AsyncGenerator[None]:
        """Release the slot in this block and acquire one again afterwards, unless the block was cancelled."""
        self._waits += 1
        self._release()
        try:
            yield
        except BaseException:
            self._waits -= 1
            raise
        self._waits -= 1
        if not self._waits:
            await self._reacquire()

    async def _reacquire(self) -> None:
        await self._semaphore.acquire()
        # Meanwhile the slot may have been released or acquired by another task of the owner.
        if self._waits or self._is_held:
            self._semaphore.release()
        else:
            self._is_held = True

    def _release(self) -> None:
        if self._is_held:
            self._is_held = False
            self._semaphore.release()


class TokenBudget:
    """Tokens shared by all subagents; a `limit` of 0 is unlimited.

    A subagent reserves an estimated number of tokens when it starts, and returns what it does not use.
    """

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self._used = 0
        self._held = 0
        self._returned = asyncio.Event()

    @property
    def used(self) -> int:
        return self._used

    @property
    def held(self) -> int:
        """Tokens that are reserved and not used."""
        return self._held

    @property
    def left(self) -> int:
        """Tokens that are neither used nor reserved."""
        return max(0, self.limit - self._used - self._held)

    @property
    def is_spent(self) -> bool:
        return 0 < self.limit <= self._used

    async def acquire(self, tokens: int, *, waits: bool) -> TokenReservation | None:
        """Reserve tokens, fewer if not enough are left; None if the budget is spent.

        With `waits`, wait while others may still return tokens. A subagent that another holder of a reservation waits
        for must not wait itself.
        """
        if not self.limit:
            return TokenReservation(self, 0)
        while waits and self._held and self.left < tokens:
            self._returned.clear()
            await self._returned.wait()
        if self.is_spent:
            return None
        tokens = min(tokens, self.left)
        self._held += tokens
        return TokenReservation(self, tokens)

    def count(self, used: int, returned: int) -> None:
        """Count used tokens, and tokens that are no longer reserved."""
        self._used += used
        self._held -= returned
        self._returned.set()


class TokenReservation:
    """Tokens reserved by one subagent. It may use more, which leaves less for the others."""

    def __init__(self, budget: TokenBudget, tokens: int) -> None:
        self._budget = budget
        self._held = tokens

    @property
    def budget(self) -> TokenBudget:
        return self._budget

    def use(self, tokens: int) -> None:
        returned = min(tokens, self._held)
        self._held -= returned
        self._budget.count(tokens, returned)

    def close(self) -> None:
        """Return the tokens that were not used."""
        returned, self._held = self._held, 0
        self._budget.count(0, returned)
