"""Retries without the part of a request that a service rejected, if the request can do without it."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import aclosing

from harness.deltas import Delta
from harness.errors import ModelNotFound, RequestRejected

MAX_ATTEMPTS = 8
"""Number of times that a request is changed."""


async def with_degradation(
    ask: Callable[[], AsyncGenerator[Delta]],
    adapts: Callable[[RequestRejected], bool],
    suggest: Callable[[ModelNotFound], Awaitable[ModelNotFound]],
) -> AsyncGenerator[Delta]:
    """Yield the reply to a request, sent again without parts that the service rejects.

    Args:
        ask: Sends the request.
        adapts: Called with a rejection unless part of the reply was yielded already; returns True if the next `ask`
            leaves
            out what the request was rejected for.
        suggest: Adds the available models to the error for a model that was not found.

    Raises:
        ProviderError: As `ask`, if nothing can be left out.
    """
    attempts = 0
    while True:
        has_begun = False
        try:
            async with aclosing(ask()) as answer:
                async for delta in answer:
                    has_begun = True
                    yield delta
            return
        except RequestRejected as error:
            if has_begun or attempts == MAX_ATTEMPTS or not adapts(error):
                raise
            attempts += 1
        except ModelNotFound as error:
            raise await suggest(error) from error


def add_new(known: set[str], more: set[str]) -> bool:
    """Add elements to a set; return True if some were new, so that another attempt is useful."""
    is_new = not more <= known
    known |= more
    return is_new
