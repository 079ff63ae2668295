"""A request that is refused for a part it can do without is asked again, less that part."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import aclosing

from harness.deltas import Delta
from harness.errors import ModelNotFound, RequestRejected

MOST = 8
"""How often a request is mended; a service with more wishes has none that can be met."""


async def with_degradation(
    ask: Callable[[], AsyncGenerator[Delta]],
    mends: Callable[[RequestRejected], bool],
    named: Callable[[ModelNotFound], Awaitable[ModelNotFound]],
) -> AsyncGenerator[Delta]:
    """The answer to what `ask` asks.

    `mends` is told of a refusal, and says whether the next `ask` is without what it was for. It is not told once a
    part of the answer was handed on: that cannot be taken back. `named` says what models there are instead of one that
    is not found.

    Raises:
        ProviderError: as `ask` does, when nothing can be mended.
    """
    mended = 0
    while True:
        has_begun = False
        try:
            async with aclosing(ask()) as answer:
                async for delta in answer:
                    has_begun = True
                    yield delta
            return
        except RequestRejected as error:
            if has_begun or mended == MOST or not mends(error):
                raise
            mended += 1
        except ModelNotFound as error:
            raise await named(error) from error


def add_new(known: set[str], more: set[str]) -> bool:
    """Add what a refusal told; whether something of it is new, so that asking again is of use."""
    is_new = not more <= known
    known |= more
    return is_new
