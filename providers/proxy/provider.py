"""Provider for a proxy, which chooses where the models are."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Set

from harness.deltas import Delta
from harness.ports.provider import Request
from providers.endpoint import Endpoint
from providers.http_provider import HttpProvider
from providers.net.stream import deltas
from providers.proxy.decode import ProxyDecoder
from providers.proxy.encode import encode

PATH = "/v1/stream"
MODELS = "/v1/models"


class ProxyProvider(HttpProvider):
    """Streams replies of the models behind a proxy.

    Not every proxy lists its models: the protocol does not define it.
    """

    def __init__(self, endpoint: Endpoint) -> None:
        super().__init__(endpoint.without_path(PATH, "/v1"), _headers, (MODELS,))

    async def _send(self, request: Request, without: Set[str]) -> AsyncGenerator[Delta]:
        transport = await self._transport_for(request)
        return deltas(transport, PATH, encode(request), ProxyDecoder(transport.endpoint))


def _headers(endpoint: Endpoint) -> dict[str, str]:
    return {"content-type": "application/json", "accept": "text/event-stream", **endpoint.bearer_header}
