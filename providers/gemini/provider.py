"""Provider for the Gemini API."""

from __future__ import annotations

import re
from collections.abc import AsyncGenerator, Mapping, Set
from urllib.parse import quote

from msgspec import Struct
from msgspec.structs import replace

from harness.deltas import Delta
from harness.errors import RequestRejected
from harness.messages import ModelSpec
from harness.ports.provider import Request
from providers.endpoint import Endpoint
from providers.gemini.decode import ContentDecoder
from providers.gemini.encode import FORMAT, TEMPERATURE, THINKING, UNSIGNED, encode
from providers.gemini.models import thinking_config
from providers.http_provider import HttpProvider
from providers.net.stream import deltas
from providers.net.transport import Transport
from providers.wire.hosted_search import REJECTED_SEARCH, SEARCH

# Features that models reject, by the text of their error.
REJECTABLE = (("thought[_ ]signature", UNSIGNED), ("thinking", THINKING), ("temperature", TEMPERATURE))
REJECTED_SCHEMA = "response[_ ]mime[_ ]type|schema"


class Route(Struct, frozen=True):
    """Endpoint, headers and path of one request; `root` precedes a model's name."""

    endpoint: Endpoint
    headers: Mapping[str, str]
    root: str


class GeminiProvider(HttpProvider):
    """Streams replies of one service's models.

    If a model rejects an optional part of a request, the part is left out from then on.
    """

    version = "/v1beta"
    list_path = "/models?pageSize=1000"
    """Path of the model list, after the version."""

    def __init__(self, endpoint: Endpoint) -> None:
        # Google's SDK takes a base URL without the API version, other programs with it.
        endpoint = replace(endpoint, base_url=re.sub(r"/v1(beta1?)?$", "", endpoint.base_url))
        super().__init__(endpoint, key_header, (self.version + self.list_path,))

    async def route(self, key: str | None) -> Route:
        """Return the route for a request, with this key or the provider's own.

        Raises:
            ProviderError: There is no key to send.
        """
        endpoint = self.endpoint if key is None else self.endpoint.with_key(key)
        return Route(endpoint, key_header(endpoint), self.version)

    def model_name(self, model_id: str) -> str:
        return model_id if "/" in model_id else f"models/{model_id}"

    def supports_thinking(self, spec: ModelSpec, *, with_tools: bool) -> bool:
        return bool(thinking_config(spec))

    async def _transport_for(self, request: Request | None) -> Transport:
        return self._transport_on(await self.route(request and request.api_key))

    def _transport_on(self, route: Route) -> Transport:
        return self._transport.with_credentials(route.endpoint, route.headers)

    async def _send(self, request: Request, without: Set[str]) -> AsyncGenerator[Delta]:
        route, model_id = await self.route(request.api_key), request.spec.model_id
        body = encode(request, self._rejected.of(model_id))
        path = f"{route.root}/{quote(self.model_name(model_id))}:streamGenerateContent?alt=sse"
        return deltas(self._transport_on(route), path, body, ContentDecoder(route.endpoint))

    def _adapts(self, request: Request, without: set[str], error: RequestRejected) -> bool:
        schema = ((REJECTED_SCHEMA, FORMAT),) if request.output_schema else ()
        search = ((REJECTED_SEARCH, SEARCH),) if any(tool.hosting for tool in request.tools) else ()
        return self._rejected.learn(request.spec.model_id, error, (*search, *REJECTABLE, *schema))


def key_header(endpoint: Endpoint) -> dict[str, str]:
    # Never in the URL, which may be logged.
    key = {"x-goog-api-key": endpoint.secret.value} if endpoint.secret else {}
    return {"content-type": "application/json", **key}
