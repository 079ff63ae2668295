"""Model servers on this machine: which ones answer, what they serve, and how much they let a model read."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Protocol, runtime_checkable

from harness.errors import ProviderError
from harness.lazy_dataclass import dataclass
from harness.messages import JsonValue
from harness.ports.provider import ModelInfo, ModelInfoSource, Price
from providers.catalog import Preset
from providers.endpoint import Endpoint
from providers.installed import all_presets
from providers.model_catalog.listing import known_in, listed
from providers.model_catalog.metadata import ModelMetadata

HOST = "127.0.0.1"
PROBE_SECONDS = 0.5
PATIENCE = 3.0
USUAL_WINDOW = 32_768
FREE = Price(0.0, 0.0)
# The window a model was loaded with comes before the one it was trained for.
WINDOW_FIELDS = ("loaded_context_length", "n_ctx", "context_length", "max_model_len", "max_context_length")


@dataclass(frozen=True, slots=True)
class LocalServer:
    preset: str
    base_url: str
    models: tuple[str, ...]


@runtime_checkable
class FactsSource(Protocol):
    async def known(self, model_id: str) -> ModelMetadata:
        """What the model's server tells of it; raises ProviderError."""
        ...


async def find_local_servers(
    ports: Mapping[str, int] | None = None, *, seconds: float = PROBE_SECONDS
) -> list[LocalServer]:
    """The servers that answer on their usual ports, or on those given by preset name. Never raises."""
    # Another package may be slow to import.
    presets = await asyncio.to_thread(all_presets)
    usual = {preset.name: preset.local_port for preset in presets.values() if preset.local_port}
    async with asyncio.TaskGroup() as group:
        probes = [
            group.create_task(_probe(presets[name], port, seconds))
            for name, port in (usual if ports is None else ports).items()
        ]
    return [server for probe in probes if (server := probe.result())]


async def _probe(preset: Preset, port: int, seconds: float) -> LocalServer | None:
    # Most often nothing listens, and then the HTTP client need not be loaded.
    if not await _listens(port, seconds):
        return None
    from providers.model_catalog.models import model_names
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


class LocalFacts:
    """Facts of a model on this machine, which its server is asked for; it costs nothing."""

    def __init__(self, source: FactsSource, model_id: str) -> None:
        self._source = source
        self._model_id = model_id
        self._now: ModelInfo | None = None

    @property
    def now(self) -> ModelInfo | None:
        return self._now

    async def load(self) -> ModelInfo:
        if self._now is None:
            self._now = (await self._known()).completed_by(ModelMetadata(USUAL_WINDOW, price=FREE)).facts
        return self._now

    async def _known(self) -> ModelMetadata:
        try:
            async with asyncio.timeout(PATIENCE):
                return await self._source.known(self._model_id)
        except (ProviderError, TimeoutError):
            return ModelMetadata()


def known_of_model(answer: JsonValue, model_id: str) -> ModelMetadata:
    """What a server's answer tells of a model, whether it is about all it has or about the only one."""
    models = {model.id: model.known for model in listed(answer)}
    known = models.get(model_id) if models else known_in(answer) if isinstance(answer, dict) else None
    return ModelMetadata(window_in(answer, model_id)).completed_by(known or ModelMetadata())


def window_in(answer: JsonValue, model_id: str) -> int | None:
    """The window a server's answer gives for a model, or for the only one it tells of."""
    objects = list(_objects(answer))
    named = [value for value in objects if model_id in (value.get("id"), value.get("name"), value.get("model"))]
    if not named and any("id" in value or "name" in value for value in objects):
        return None
    about = list(_objects([*named])) if named else objects
    windows = (value.get(name) for name in WINDOW_FIELDS for value in about)
    return next((window for window in windows if isinstance(window, int) and window > 0), None)


def _objects(value: JsonValue) -> Iterator[dict[str, JsonValue]]:
    match value:
        case dict():
            yield value
            for inner in value.values():
                yield from _objects(inner)
        case list():
            for inner in value:
                yield from _objects(inner)
        case _:
            return


if TYPE_CHECKING:
    _: type[ModelInfoSource] = LocalFacts
