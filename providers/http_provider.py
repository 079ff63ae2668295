"""Base of the providers that are reached over HTTP: model lists, and retries without what a service rejected."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import aclosing
from typing import TYPE_CHECKING

from harness.deltas import Delta
from harness.errors import ModelNotFound, ProviderError, RequestRejected, StreamError
from providers.endpoint import Endpoint
from providers.model_catalog.listing import entries_of, listed
from providers.model_catalog.metadata import ListedModel
from providers.net.transport import Transport
from providers.preset import nearest

if TYPE_CHECKING:
    from providers.model_catalog.metadata import MetadataSource


TIMEOUT_SECONDS = 5.0
MAX_ATTEMPTS = 8
"""Number of times that a request is changed."""


def lists_of(endpoint: Endpoint) -> tuple[str, ...]:
    """Return the paths of model lists, the most detailed first."""
    root = endpoint.base_url.removesuffix("/v1")
    return (*(root + path for path in endpoint.preset.lists), endpoint.preset.models_path)


async def listed_models(transport: Transport, *paths: str, seconds: float = TIMEOUT_SECONDS) -> list[ListedModel]:
    """Return the models of a server in its own order, from the first list that it has.

    Raises:
        ProviderError: The server could not be reached, or rejected the request.
    """
    for path in paths[:-1]:
        try:
            answer = await transport.get(path, seconds=seconds)
        except (ModelNotFound, RequestRejected, StreamError):
            continue
        # Some servers answer unknown paths with status 200.
        if entries_of(answer):
            return listed(answer)
    return listed(await transport.get(paths[-1], seconds=seconds))


async def model_names(transport: Transport, path: str, *, seconds: float = TIMEOUT_SECONDS) -> list[str]:
    """Return the names alone; raises as `listed_models`."""
    return [model.id for model in await listed_models(transport, path, seconds=seconds)]


async def better_named(error: ModelNotFound, transport: Transport, path: str, model_id: str) -> ModelNotFound:
    """Return the error with the nearest names that the server lists, if it does."""
    try:
        known = await model_names(transport, path)
    except ProviderError:
        return error
    return with_suggestions(error, known, model_id)


def with_suggestions(error: ModelNotFound, known: list[str], model_id: str) -> ModelNotFound:
    """Return the error with the nearest of the known names."""
    close = nearest(model_id, known)
    hint = (
        f"did you mean {' or '.join(close)}?" if close else f"available models: {', '.join(known[:8])}" if known else ""
    )
    return ModelNotFound(f"{error}; {hint}" if hint else str(error), status=error.status)


class HttpProvider:
    """Connection handling and model listing; a subclass adds `stream`.

    Args:
        transport: Requests to the provider's endpoint.
        lists: Paths of the model list; the first that the server has is used.
    """

    def __init__(self, transport: Transport, *lists: str) -> None:
        self.name = transport.endpoint.preset.name
        self._transport = transport
        self._lists = lists

    def warm(self) -> None:
        """Prepare for the first request; meant for a thread, after the first paint."""
        self._transport.warm()

    async def close(self) -> None:
        await self._transport.close()

    async def models(self) -> list[str]:
        return [model.id for model in await self.listed()]

    async def listed(self) -> list[ListedModel]:
        return await listed_models(self._transport, *self._lists) if self._lists else []


async def with_degradation(
    ask: Callable[[], AsyncGenerator[Delta]],
    adapts: Callable[[RequestRejected], bool],
    suggest: Callable[[ModelNotFound], Awaitable[ModelNotFound]],
) -> AsyncGenerator[Delta]:
    """Yield the reply to a request, sent again without parts that the service rejects.

    Args:
        ask: Sends the request.
        adapts: Called with a rejection unless part of the reply was yielded already; returns True if the next `ask`
            leaves out what the request was rejected for.
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


if TYPE_CHECKING:
    _: type[MetadataSource] = HttpProvider
