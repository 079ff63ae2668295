"""Backends of Gemini models: address, path and key of a request."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Protocol
from urllib.parse import quote

from harness.lazy_dataclass import dataclass
from providers.endpoint import Endpoint


@dataclass(frozen=True, slots=True)
class Route:
    """Endpoint, headers and path of one request; `root` precedes a model's name or the list of models."""

    endpoint: Endpoint
    headers: Mapping[str, str]
    root: str

    def to_model(self, name: str) -> str:
        return f"{self.root}/{quote(name)}:streamGenerateContent?alt=sse"


class Backend(Protocol):
    endpoint: Endpoint

    async def route(self, key: str | None) -> Route:
        """Return the route for a request, with this key or the backend's own.

        Raises:
            ProviderError: There is no key to send.
        """
        ...

    def model_name(self, model_id: str) -> str: ...

    def listing(self, route: Route) -> str:
        """Return the path of the model list."""
        ...


class GeminiApiBackend:
    """The Gemini API, which needs only a key."""

    def __init__(self, endpoint: Endpoint) -> None:
        self.endpoint = dataclasses.replace(endpoint, base_url=unversioned(endpoint.base_url))

    async def route(self, key: str | None) -> Route:
        endpoint = self.endpoint if key is None else self.endpoint.with_key(key)
        return Route(endpoint, key_header(endpoint), "/v1beta")

    def model_name(self, model_id: str) -> str:
        return model_id if "/" in model_id else f"models/{model_id}"

    def listing(self, route: Route) -> str:
        return f"{route.root}/models?pageSize=1000"


def unversioned(base_url: str) -> str:
    """Return a base URL without the API version: Google's SDK takes one without it, other programs with it."""
    return re.sub(r"/v1(beta1?)?$", "", base_url)


def key_header(endpoint: Endpoint) -> dict[str, str]:
    headers = {"content-type": "application/json"}
    if endpoint.secret is None:
        return headers
    # Never in the URL, which may be logged.
    return headers | {"x-goog-api-key": endpoint.secret.value}


if TYPE_CHECKING:
    _: type[Backend] = GeminiApiBackend
