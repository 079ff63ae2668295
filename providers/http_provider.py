"""Base of the providers that are reached over HTTP: model lists, and retries without what a service rejected."""

from __future__ import annotations

import re
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterable, Mapping, Sequence, Set
from contextlib import aclosing

from harness.deltas import Delta
from harness.errors import ModelNotFound, ProviderError, RequestRejected, StreamError
from harness.ports.provider import Request
from providers.endpoint import Endpoint
from providers.model_catalog.listing import entries_of, listed
from providers.model_catalog.metadata import ListedModel, MetadataSource
from providers.net.transport import Transport, json_headers
from providers.preset import nearest
from providers.service import Service

TIMEOUT_SECONDS = 5.0
MAX_ATTEMPTS = 8
"""Number of times that a request is changed."""
ANY_MODEL = ""
"""Stands for all models in `RejectedFeatures`."""


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


class HttpProvider(Service, MetadataSource):
    """Connection handling, model listing, and requests that are sent again without what the service rejected.

    A subclass sends a request in `_send`, and learns in `_adapts` what to leave out.

    Args:
        endpoint: Address and key.
        headers: Headers of every request, with the endpoint's key.
        lists: Paths of the model list; the first that the server has is used.
    """

    def __init__(
        self,
        endpoint: Endpoint,
        headers: Callable[[Endpoint], Mapping[str, str]] = json_headers,
        lists: Sequence[str] = (),
    ) -> None:
        self.name = endpoint.preset.name
        self._transport = Transport(endpoint, headers(endpoint))
        self._headers = headers
        self._lists = lists
        self._rejected = RejectedFeatures()
        self._unreadable: set[str] = set()
        """Ids of replies whose thinking the service rejects."""

    @property
    def endpoint(self) -> Endpoint:
        return self._transport.endpoint

    def warm(self) -> None:
        """Prepare for the first request; meant for a thread, after the first paint."""
        self._transport.warm()

    async def close(self) -> None:
        await self._transport.close()

    async def models(self) -> list[str]:
        return [model.id for model in await self.listed()]

    async def listed(self) -> list[ListedModel]:
        return await listed_models(await self._transport_for(None), *self._lists) if self._lists else []

    async def stream(self, request: Request) -> AsyncIterator[Delta]:
        """Yield the reply; the request is sent again without parts that the service rejects.

        Raises:
            ProviderError: The request failed, and nothing could be left out, or part of the reply was yielded already.
        """
        without: set[str] = set()
        for attempts_left in range(MAX_ATTEMPTS, -1, -1):
            has_begun = False
            try:
                async with aclosing(await self._send(request, without)) as deltas:
                    async for delta in deltas:
                        has_begun = True
                        yield delta
                return
            except RequestRejected as error:
                if has_begun or not attempts_left or not self._adapts(request, without, error):
                    raise
            except ModelNotFound as error:
                raise await self._with_suggestions(request, error) from error

    async def _transport_for(self, request: Request | None) -> Transport:
        """Return the transport for a request, which may have its own key, or for a model list."""
        return self._transport.for_key(request and request.api_key, self._headers)

    async def _send(self, request: Request, without: Set[str]) -> AsyncGenerator[Delta]:
        """Return the deltas of the reply; `without` are features that this request leaves out."""
        raise NotImplementedError

    def _adapts(self, request: Request, without: set[str], error: RequestRejected) -> bool:
        """Return True if the next attempt leaves out what this one was rejected for."""
        return False

    async def _with_suggestions(self, request: Request, error: ModelNotFound) -> ModelNotFound:
        """Return the error with similar names that the server lists."""
        try:
            known = await self._known_names(request)
        except ProviderError:
            return error
        return with_suggestions(error, known, request.spec.model_id)

    async def _known_names(self, request: Request) -> list[str]:
        return await model_names(await self._transport_for(request), self._lists[-1]) if self._lists else []


class RejectedFeatures:
    """Optional parts of requests that models rejected, and which are left out from then on."""

    def __init__(self) -> None:
        self._of_model: dict[str, set[str]] = {}

    def of(self, model_id: str) -> Set[str]:
        return self._of_model.get(model_id, frozenset())

    def learn(self, model_id: str, error: RequestRejected, patterns: Iterable[tuple[str, str]]) -> bool:
        """Learn from an error; return True if it is about a feature that was not known to be rejected.

        Args:
            model_id: The model.
            error: The rejection.
            patterns: Pairs of a pattern in the error's text, in lower case, and a feature.
        """
        known, text = self._of_model.setdefault(model_id, set()), str(error).lower()
        new = next((part for pattern, part in patterns if part not in known and re.search(pattern, text)), None)
        return new is not None and add_new(known, {new})


def add_new(known: set[str], more: set[str]) -> bool:
    """Add elements to a set; return True if some were new, so that another attempt is useful."""
    is_new = not more <= known
    known |= more
    return is_new
