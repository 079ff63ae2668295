"""Provider for a proxy, which chooses where the models are."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import aclosing
from typing import TYPE_CHECKING

from msgspec.structs import replace

from harness.deltas import Delta
from harness.errors import ModelNotFound
from harness.ports.provider import Provider, Request
from providers.endpoint import Endpoint
from providers.http_provider import HttpProvider, better_named
from providers.net.stream import deltas
from providers.net.transport import Transport
from providers.proxy.decode import ProxyDecoder
from providers.proxy.encode import encode

PATH = "/v1/stream"
MODELS = "/v1/models"


class ProxyProvider(HttpProvider):
    """Streams replies of the models behind a proxy.

    Not every proxy lists its models: the protocol does not define it.
    """

    def __init__(self, endpoint: Endpoint) -> None:
        base_url = endpoint.base_url.removesuffix(PATH).removesuffix("/v1")
        super().__init__(Transport(replace(endpoint, base_url=base_url), _headers(endpoint)), MODELS)

    async def stream(self, request: Request) -> AsyncIterator[Delta]:
        transport = self._transport.for_key(request.api_key, _headers)
        decoder = ProxyDecoder(transport.endpoint)
        try:
            async with aclosing(deltas(transport, PATH, encode(request), decoder)) as answer:
                async for delta in answer:
                    yield delta
        except ModelNotFound as error:
            raise await better_named(error, transport, MODELS, request.spec.model_id) from error


def _headers(endpoint: Endpoint) -> dict[str, str]:
    return {"content-type": "application/json", "accept": "text/event-stream", **endpoint.bearer_header}


if TYPE_CHECKING:
    _: type[Provider] = ProxyProvider
