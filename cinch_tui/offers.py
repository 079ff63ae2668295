"""Which models can be had now, by asking those who serve them."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from harness.errors import CinchError
from providers import list_models
from providers.local import find_local_servers

if TYPE_CHECKING:
    from cinch_tui.credentials import KeyStore
    from harness.messages import ModelSpec

PATIENCE = 3.0
"""Seconds that a service gets to say what it serves."""


async def models(spec: ModelSpec, keys: KeyStore) -> list[str]:
    """The models of the service in use and of the servers on this machine, as `preset/model`. Never raises."""
    async with asyncio.TaskGroup() as group:
        served = group.create_task(_served(spec, keys))
        local = group.create_task(find_local_servers())
    names = [f"{server.preset}/{model}" for server in local.result() for model in server.models]
    return [*served.result(), *names]


async def _served(spec: ModelSpec, keys: KeyStore) -> list[str]:
    if spec.provider == "demo":
        return []
    try:
        async with asyncio.timeout(PATIENCE):
            names = await list_models(spec.provider, base_url=spec.base_url or None, credentials=keys)
    except (CinchError, TimeoutError):
        return []
    return [f"{spec.provider}/{name}" for name in sorted(names)]
