"""Limits that all subagents of a run share: concurrency, tokens, and one question to the user at a time."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from types import TracebackType

from harness.agent.options import Subagents

SPENT = "The token budget of the sub-agents is spent."


class SharedLimits:
    def __init__(self, limits: Subagents) -> None:
        self.limits = limits
        self.asking = asyncio.Lock()
        self.slots = asyncio.Semaphore(max(1, limits.max_concurrent))
        self.budget = TokenBudget(limits.token_budget)


class ConcurrencySlot:
    """A place to work at, of which there are only so many; entered once one is free.

    It is lent while its owner waits for sub-agents of its own: else all could be taken by those who wait for one.
    """

    def __init__(self, seats: asyncio.Semaphore) -> None:
        self._seats = seats
        self._is_held = False
        self._loans = 0

    async def __aenter__(self) -> ConcurrencySlot:
        await self._seats.acquire()
        self._is_held = True
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._leave()

    @asynccontextmanager
    async def lent(self) -> AsyncGenerator[None]:
        """Who comes back waits until a place is free again; who was cancelled meanwhile does not need one."""
        self._loans += 1
        self._leave()
        try:
            yield
        except BaseException:
            self._loans -= 1
            raise
        self._loans -= 1
        if not self._loans:
            await self._come_back()

    async def _come_back(self) -> None:
        await self._seats.acquire()
        # While it was waited for, it may have been lent anew.
        if self._loans or self._is_held:
            self._seats.release()
        else:
            self._is_held = True

    def _leave(self) -> None:
        if self._is_held:
            self._is_held = False
            self._seats.release()


class TokenBudget:
    """`limit` tokens for all; 0 for as many as they like.

    Who begins takes a share by an estimate, and gives back what it did not use.
    """

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self._used = 0
        self._held = 0
        self._given_back = asyncio.Event()

    @property
    def used(self) -> int:
        return self._used

    @property
    def held(self) -> int:
        """What is taken but not used."""
        return self._held

    @property
    def left(self) -> int:
        """What is neither used nor taken."""
        return max(0, self.limit - self._used - self._held)

    @property
    def is_spent(self) -> bool:
        return 0 < self.limit <= self._used

    async def acquire(self, tokens: int, *, waits: bool) -> TokenReservation | None:
        """A share of so many tokens, or of what is left; None when all is spent.

        Where there is not enough, one that `waits` does so as long as others may give something back. Those must not,
        for whom a holder of a share is waiting.
        """
        if not self.limit:
            return TokenReservation(self, 0)
        while waits and self._held and self.left < tokens:
            self._given_back.clear()
            await self._given_back.wait()
        if self.is_spent:
            return None
        tokens = min(tokens, self.left)
        self._held += tokens
        return TokenReservation(self, tokens)

    def count(self, used: int, returned: int) -> None:
        """So much was used, and so much of what was taken is taken no more."""
        self._used += used
        self._held -= returned
        self._given_back.set()


class TokenReservation:
    """What one sub-agent has taken. It may use more than that: the others then have less."""

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
        """Give back what was not used."""
        returned, self._held = self._held, 0
        self._budget.count(0, returned)
