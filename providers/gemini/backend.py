"""Where Gemini models are: the address, the way to a model and the key that one request goes with."""

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
    """How one request gets there; `root` is what comes before a model's name, or a list of them."""

    endpoint: Endpoint
    headers: Mapping[str, str]
    root: str

    def to_model(self, name: str) -> str:
        return f"{self.root}/{quote(name)}:streamGenerateContent?alt=sse"


class Backend(Protocol):
    endpoint: Endpoint

    async def route(self, key: str | None) -> Route:
        """The way for a request, with this key or with the site's own.

        Raises:
            ProviderError: there is no key that could be sent.
        """
        ...

    def model_name(self, model_id: str) -> str: ...

    def listing(self, way: Route) -> str:
        """The path under which the site lists its models."""
        ...


class GeminiApiBackend:
    """The Gemini API, where a key is all one needs."""

    def __init__(self, endpoint: Endpoint) -> None:
        self.endpoint = dataclasses.replace(endpoint, base_url=unversioned(endpoint.base_url))

    async def route(self, key: str | None) -> Route:
        endpoint = self.endpoint if key is None else self.endpoint.with_key(key)
        return Route(endpoint, key_header(endpoint), "/v1beta")

    def model_name(self, model_id: str) -> str:
        return model_id if "/" in model_id else f"models/{model_id}"

    def listing(self, way: Route) -> str:
        return f"{way.root}/models?pageSize=1000"


def unversioned(base_url: str) -> str:
    """The vendor's SDK takes an address without the version of the API; other programs take one with it."""
    return re.sub(r"/v1(beta1?)?$", "", base_url)


def key_header(endpoint: Endpoint) -> dict[str, str]:
    headers = {"content-type": "application/json"}
    if endpoint.secret is None:
        return headers
    # Never in the address, where logs would keep it.
    return headers | {"x-goog-api-key": endpoint.secret.value}


if TYPE_CHECKING:
    _: type[Backend] = GeminiApiBackend
