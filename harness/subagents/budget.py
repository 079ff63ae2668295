"""The tokens that all sub-agents of a run may use together."""

from __future__ import annotations

import asyncio

SPENT = "The token budget of the sub-agents is spent."


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
