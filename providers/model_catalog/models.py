"""Requests for model lists, and suggestions for wrong model names."""

from __future__ import annotations

from harness.errors import ModelNotFound, ProviderError, RequestRejected, StreamError
from providers.catalog import nearest
from providers.endpoint import Endpoint
from providers.model_catalog.listing import entries_of, listed
from providers.model_catalog.metadata import ListedModel
from providers.net.transport import Transport

TIMEOUT_SECONDS = 5.0


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
