"""Model servers on this machine: discovery, and metadata of their models."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from contextlib import suppress

from msgspec import Struct

from harness.errors import ProviderError
from harness.ports.provider import ModelInfo
from providers.endpoint import Endpoint
from providers.installed import all_presets
from providers.model_catalog.metadata import FREE, LazyModelInfo, ModelMetadata, ServerMetadataSource
from providers.preset import Preset

HOST = "127.0.0.1"
PROBE_SECONDS = 0.5
TIMEOUT_SECONDS = 3.0
DEFAULT_WINDOW = 32_768


class LocalServer(Struct, frozen=True):
    preset: str
    base_url: str
    models: tuple[str, ...]


async def find_local_servers(
    ports: Mapping[str, int] | None = None, *, seconds: float = PROBE_SECONDS
) -> list[LocalServer]:
    """Return the servers that answer on their default ports, or on those given by preset name. Never raises."""
    # A provider package may be slow to import.
    presets = await asyncio.to_thread(all_presets)
    usual = {preset.name: preset.local_port for preset in presets.values() if preset.local_port}
    async with asyncio.TaskGroup() as group:
        probes = [
            group.create_task(_probe(presets[name], port, seconds))
            for name, port in (usual if ports is None else ports).items()
        ]
    return [server for probe in probes if (server := probe.result())]


async def _probe(preset: Preset, port: int, seconds: float) -> LocalServer | None:
    # Usually nothing listens, and the HTTP client need not be loaded.
    if not await _listens(port, seconds):
        return None
    from providers.http_provider import model_names
    from providers.net.transport import Transport

    base_url = f"http://{HOST}:{port}/v1"
    transport = Transport(Endpoint(preset, base_url), {})
    await asyncio.to_thread(transport.warm)
    try:
        names = await model_names(transport, "/models", seconds=seconds)
    except ProviderError:
        return None
    finally:
        await transport.close()
    return LocalServer(preset.name, base_url, tuple(names))


async def _listens(port: int, seconds: float) -> bool:
    try:
        async with asyncio.timeout(seconds):
            _, writer = await asyncio.open_connection(HOST, port)
    except (OSError, TimeoutError):
        return False
    writer.close()
    with suppress(OSError):
        await writer.wait_closed()
    return True


def local_model_info(source: ServerMetadataSource, model_id: str) -> LazyModelInfo:
    """Return the information of a model from its server; local models are free."""

    async def look_up() -> ModelInfo:
        known = ModelMetadata()
        with suppress(ProviderError, TimeoutError):
            async with asyncio.timeout(TIMEOUT_SECONDS):
                known = await source.model_metadata(model_id)
        return known.completed_by(ModelMetadata(DEFAULT_WINDOW, price=FREE)).model_info

    return LazyModelInfo(look_up)
