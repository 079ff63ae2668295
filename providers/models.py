"""What a server says it serves, and the nearest of its names to a wrong one."""

from __future__ import annotations

import re

from harness.errors import ModelNotFound, ProviderError
from harness.messages import JsonValue
from providers.catalog import nearest
from providers.transport import Transport

PATIENCE = 5.0


async def model_names(transport: Transport, path: str, *, seconds: float = PATIENCE) -> list[str]:
    """The models of a server, in its own order.

    Raises:
        ProviderError: the server could not be asked, or answered with something else.
    """
    match await transport.get(path, seconds=seconds):
        case (
            {"data": list() as entries}
            | {"models": list() as entries}
            | {"publisherModels": list() as entries}
            | [*entries]
        ):
            return [name for entry in entries if (name := _name_of(entry))]
        case _:
            return []


async def better_named(error: ModelNotFound, transport: Transport, path: str, model_id: str) -> ModelNotFound:
    """The same error, with the nearest names the server does know, if it tells."""
    try:
        known = await model_names(transport, path)
    except ProviderError:
        return error
    return told_nearest(error, known, model_id)


def told_nearest(error: ModelNotFound, known: list[str], model_id: str) -> ModelNotFound:
    """The same error, with the nearest of the names that are known."""
    close = nearest(model_id, known)
    hint = f"did you mean {' or '.join(close)}?" if close else f"it serves {', '.join(known[:8])}" if known else ""
    return ModelNotFound(f"{error}; {hint}" if hint else str(error), status=error.status)


def _name_of(entry: JsonValue) -> str:
    match entry:
        case {"supportedGenerationMethods": list() as methods} if "generateContent" not in methods:
            return ""
        case {"id": str(name)} | {"name": str(name)} | str(name):
            return re.sub(r"^(publishers/google/)?models/", "", name)
        case _:
            return ""
