"""Model servers on this machine: discovery, and metadata of their models."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from contextlib import suppress

from msgspec import Struct

from harness.errors import ProviderError
from harness.ports.provider import ModelInfo, ModelInfoSource, Price
from providers.endpoint import Endpoint
from providers.installed import all_presets
from providers.model_catalog.metadata import ModelMetadata, ServerMetadataSource
from providers.preset import Preset

HOST = "127.0.0.1"
PROBE_SECONDS = 0.5
TIMEOUT_SECONDS = 3.0
DEFAULT_WINDOW = 32_768
FREE = Price(0.0, 0.0)


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


class LocalModelInfo(ModelInfoSource):
    """Model information from its server; local models are free."""

    def __init__(self, source: ServerMetadataSource, model_id: str) -> None:
        self._source = source
        self._model_id = model_id
        self._now: ModelInfo | None = None

    @property
    def now(self) -> ModelInfo | None:
        return self._now

    async def load(self) -> ModelInfo:
        if self._now is None:
            self._now = (await self._metadata()).completed_by(ModelMetadata(DEFAULT_WINDOW, price=FREE)).model_info
        return self._now

    async def _metadata(self) -> ModelMetadata:
        try:
            async with asyncio.timeout(TIMEOUT_SECONDS):
                return await self._source.model_metadata(self._model_id)
        except (ProviderError, TimeoutError):
            return ModelMetadata()
