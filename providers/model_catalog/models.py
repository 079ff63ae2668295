"""Asking a server what it serves, and the nearest of its names to a wrong one."""

from __future__ import annotations

from harness.errors import ModelNotFound, ProviderError, RequestRejected, StreamError
from providers.catalog import nearest
from providers.endpoint import Endpoint
from providers.model_catalog.listing import entries_of, listed
from providers.model_catalog.metadata import ListedModel
from providers.net.transport import Transport

PATIENCE = 5.0


def lists_of(endpoint: Endpoint) -> tuple[str, ...]:
    """Where the models are listed, the list that tells most first."""
    root = endpoint.base_url.removesuffix("/v1")
    return (*(root + path for path in endpoint.preset.lists), endpoint.preset.models_path)


async def listed_models(transport: Transport, *paths: str, seconds: float = PATIENCE) -> list[ListedModel]:
    """The models of a server, in its own order, from the first of the lists that it has.

    Raises:
        ProviderError: the server could not be asked, or refused.
    """
    for path in paths[:-1]:
        try:
            answer = await transport.get(path, seconds=seconds)
        except (ModelNotFound, RequestRejected, StreamError):
            continue
        # Some servers say in an answer like any other that they do not know the path.
        if entries_of(answer):
            return listed(answer)
    return listed(await transport.get(paths[-1], seconds=seconds))


async def model_names(transport: Transport, path: str, *, seconds: float = PATIENCE) -> list[str]:
    """The names alone; raises as `listed_models`."""
    return [model.id for model in await listed_models(transport, path, seconds=seconds)]


async def better_named(error: ModelNotFound, transport: Transport, path: str, model_id: str) -> ModelNotFound:
    """The same error, with the nearest names the server does know, if it tells."""
    try:
        known = await model_names(transport, path)
    except ProviderError:
        return error
    return with_suggestions(error, known, model_id)


def with_suggestions(error: ModelNotFound, known: list[str], model_id: str) -> ModelNotFound:
    """The same error, with the nearest of the names that are known."""
    close = nearest(model_id, known)
    hint = f"did you mean {' or '.join(close)}?" if close else f"it serves {', '.join(known[:8])}" if known else ""
    return ModelNotFound(f"{error}; {hint}" if hint else str(error), status=error.status)
