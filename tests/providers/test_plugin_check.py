from __future__ import annotations

from collections.abc import AsyncIterator

import pytest
from fakes.asking import Asker

from harness.deltas import BlockDelta, BlockEnd, BlockStart, Done
from harness.errors import AuthenticationFailed, ConfigError, StreamError
from harness.messages import ModelSpec, Usage
from harness.ports.provider import Model, Request, StaticModelInfo
from providers.endpoint import Endpoint
from providers.plugin_check import open_guarded
from providers.plugins import Preset, ProviderPlugin
from providers.service import Service

PRESET = Preset("acme", "Acme", "acme-wire", "http://127.0.0.1:9", key_required=False)
ENDPOINT = Endpoint(PRESET, PRESET.base_url)


class Failing:
    """A service whose author has not thought of anything; it streams what it is given."""

    name = "acme"

    def __init__(self, *deltas: object) -> None:
        self.deltas = deltas
        self.is_closed = False

    def warm(self) -> None:
        raise OSError("no")

    async def close(self) -> None:
        raise KeyError("no")

    async def models(self) -> list[str]:
        raise ValueError("\x1b[2Jno")

    async def stream(self, request: Request) -> AsyncIterator[object]:
        del request
        try:
            for delta in self.deltas:
                yield delta
        finally:
            self.is_closed = True


def guarded(service: object) -> Service:
    return open_guarded(ProviderPlugin(PRESET, lambda _: service), ENDPOINT)  # pyright: ignore[reportArgumentType, reportReturnType] whatever a stranger returns


def model_of(service: object) -> Model:
    return Model(guarded(service), ModelSpec("acme", "large"), StaticModelInfo())


async def test_plugin_exception_becomes_a_stream_error():
    service = guarded(Failing())

    service.warm()
    with pytest.raises(StreamError) as caught:
        await service.models()
    await service.close()

    assert str(caught.value) == "acme cannot list its models: ValueError: ␛[2Jno"


async def test_an_error_of_ours_passes_as_it_is():
    class Locked(Failing):
        async def models(self) -> list[str]:
            raise AuthenticationFailed("a key is needed")

    with pytest.raises(AuthenticationFailed, match="a key is needed"):
        await guarded(Locked()).models()


@pytest.mark.parametrize(
    ("found", "reported"),
    [(None, "it has no stream and no close and no warm and no models"), (ValueError("no"), "ValueError: no")],
)
def test_a_service_that_cannot_be_made_is_reported(found: object, reported: str):
    def open_acme(endpoint: Endpoint) -> Service:
        del endpoint
        if isinstance(found, Exception):
            raise found
        return found  # pyright: ignore[reportReturnType] whatever a stranger returns

    with pytest.raises(ConfigError, match=f"the provider acme could not be started: {reported}"):
        open_guarded(ProviderPlugin(PRESET, open_acme), ENDPOINT)


async def test_sound_deltas_pass_as_they_are(ask: Asker):
    said = [BlockStart(0, "text"), BlockDelta(0, "Hi"), BlockEnd(0), Done("stop", Usage(1, 2))]

    assert await ask(model_of(Failing(*said))) == said


@pytest.mark.parametrize(
    "delta",
    [
        "Hi",
        None,
        {"text": "Hi"},
        BlockStart(0, "speech"),  # pyright: ignore[reportArgumentType] wrong on purpose, as what follows
        BlockDelta(0, b"Hi"),  # pyright: ignore[reportArgumentType]
        BlockDelta("0", "Hi"),  # pyright: ignore[reportArgumentType]
        BlockEnd(0, signature=1),  # pyright: ignore[reportArgumentType]
        Done("finished"),  # pyright: ignore[reportArgumentType]
        Done("stop", Usage("many")),  # pyright: ignore[reportArgumentType]
        Done("stop", Usage(cost=0.5)),  # pyright: ignore[reportArgumentType]
        Done("stop", None),  # pyright: ignore[reportArgumentType]
    ],
)
async def test_an_invalid_delta_ends_the_reply(delta: object, ask: Asker):
    service = Failing(delta)

    with pytest.raises(StreamError, match="acme sent an invalid delta: "):
        await ask(model_of(service))

    assert service.is_closed
