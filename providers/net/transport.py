"""Requests to one endpoint over its pooled HTTP client."""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Mapping
from contextlib import aclosing, asynccontextmanager, suppress
from typing import TYPE_CHECKING

from harness.errors import NetworkError, ProviderError, RequestRejected, StreamError
from harness.messages import JsonObject, JsonValue
from http_client.connection_errors import connection_error, proxy_error
from http_client.pool import Pool
from http_client.responses import fill, open_response, read_chunks
from providers.endpoint import Endpoint
from providers.net.http_errors import failure, no_stream

if TYPE_CHECKING:
    import httpx

LARGEST_ERROR_BODY = 64 * 1024
ERROR_SECONDS = 10.0
"""Seconds to wait for the body of an error."""
LARGEST_DOCUMENT = 16 * 1024 * 1024

logger = logging.getLogger(__name__)


class Transport:
    """Sends requests to one endpoint, from any number of event loops.

    Args:
        endpoint: Address and key.
        headers: Headers of every request.
        pool: Connections of another transport to share.
    """

    def __init__(self, endpoint: Endpoint, headers: Mapping[str, str], pool: Pool | None = None) -> None:
        self.endpoint = endpoint
        self._headers = {"user-agent": "cinch", **endpoint.preset.headers, **headers}
        self._pool = pool or Pool(endpoint.base_url, is_local=endpoint.preset.is_local, wire=endpoint.wire)

    def __repr__(self) -> str:
        return f"Transport({self.endpoint.shown_url!r})"

    def with_credentials(self, endpoint: Endpoint, headers: Mapping[str, str]) -> Transport:
        """Return a transport with the same connections and another key."""
        return Transport(endpoint, headers, self._pool)

    def for_key(self, key: str | None, headers: Callable[[Endpoint], Mapping[str, str]]) -> Transport:
        """Return a transport with the same connections and a program's own key, or this one without a key.

        Raises:
            AuthenticationFailed: It is not a valid key.
        """
        if key is None:
            return self
        endpoint = self.endpoint.with_key(key)
        return self.with_credentials(endpoint, headers(endpoint))

    def warm(self) -> None:
        """Import httpx and build the client; may be called from any thread, and more than once.

        Errors are raised by the first request.
        """
        try:
            self._pool.warm()
        except RequestRejected as error:
            logger.info("cannot build the HTTP client: %s", error)

    async def close(self) -> None:
        await self._pool.close()

    @asynccontextmanager
    async def post(self, path: str, body: JsonObject) -> AsyncGenerator[AsyncIterator[bytes]]:
        """Yield the bytes of the response as they arrive.

        Raises:
            ProviderError: The service is unreachable, rejected the request, timed out or closed the connection.
        """
        async with self._open("POST", path, body) as response, aclosing(read_chunks(response)) as chunks:
            await self._check(response)
            yield chunks

    async def get(self, path: str, *, seconds: float = 10.0) -> JsonValue:
        """Return a small JSON document from a path under the base URL or a complete URL.

        Args:
            path: Path or URL.
            seconds: Read timeout; the whole request may take twice as long.

        Raises:
            ProviderError: As `post`; also if the response is not JSON.
        """
        return await self._document("GET", path, None, seconds)

    async def call(self, path: str, body: JsonObject, *, seconds: float = 10.0) -> JsonValue:
        """Post a small JSON document and return the response; raises as `get`."""
        return await self._document("POST", path, body, seconds)

    async def _document(self, method: str, path: str, body: JsonObject | None, seconds: float) -> JsonValue:
        content = bytearray()
        try:
            # In addition to the read timeout: a server may send a few bytes now and then, forever.
            async with asyncio.timeout(2 * seconds), self._open(method, path, body, seconds) as response:
                if response.status_code >= 300:
                    raise self._error(response, await _error_body(response))
                await fill(content, response, LARGEST_DOCUMENT)
        except TimeoutError as error:
            raise NetworkError(f"{self.endpoint.shown_url} did not finish its response in time") from error
        try:
            return json.loads(content)
        except (ValueError, RecursionError) as error:
            raise StreamError(f"{self.endpoint.shown_url}{path}: the response is not JSON") from error

    @asynccontextmanager
    async def _open(
        self, method: str, path: str, body: JsonObject | None, seconds: float | None = None
    ) -> AsyncGenerator[httpx.Response]:
        content = None if body is None else json_bytes(body)
        async with self._pool.client() as client:
            timeout, url = client.timeout if seconds is None else seconds, self._url(path)
            request = client.build_request(method, url, content=content, headers=self._headers, timeout=timeout)
            with connection_error(self.endpoint.shown_url, self._pool.proxy):
                async with open_response(client, request) as response:
                    yield response

    def _url(self, path: str) -> str:
        if path.startswith("http"):
            return path
        base, mark, query = self.endpoint.base_url.partition("?")
        return f"{base}{path}{mark}{query}"

    async def _check(self, response: httpx.Response) -> None:
        """Raise unless the response is an event stream."""
        kind = response.headers.get("content-type", "").partition(";")[0].strip().lower()
        if response.status_code < 300 and kind not in ("application/json", "text/html"):
            return
        body = await _error_body(response)
        if response.status_code >= 300:
            raise self._error(response, body)
        raise no_stream(self.endpoint, kind, body)

    def _error(self, response: httpx.Response, body: str) -> ProviderError:
        if response.status_code == 407:
            return proxy_error(self._pool.proxy, self.endpoint.shown_url, f"407 {response.reason_phrase}")
        return failure(self.endpoint, response.status_code, body, response.headers)


def json_headers(endpoint: Endpoint) -> dict[str, str]:
    """Return the headers of a JSON request with the endpoint's key."""
    return {"content-type": "application/json", **endpoint.key_headers}


def json_bytes(body: JsonObject) -> bytes:
    """Return a body as it is sent."""
    # A lone surrogate, which a broken model can produce, cannot be encoded as UTF-8.
    return json.dumps(body, ensure_ascii=False, separators=(",", ":")).encode(errors="replace")


async def _error_body(response: httpx.Response) -> str:
    body = bytearray()
    with suppress(TimeoutError):
        async with asyncio.timeout(ERROR_SECONDS):
            await fill(body, response, LARGEST_ERROR_BODY)
    return body[:LARGEST_ERROR_BODY].decode(errors="replace")
