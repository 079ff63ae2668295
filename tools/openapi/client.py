"""HTTP exchanges of API calls: bounded responses, redirects within the origin, one retry on request."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from msgspec import Struct
from msgspec.structs import replace

from harness.errors import ConfigError, ProviderError
from http_client.addresses import shown_url
from http_client.connection_errors import connection_error
from http_client.pool import CONNECT_SECONDS, Pool
from http_client.redirects import MOST_REDIRECTS, redirect_target
from http_client.responses import fill, open_first
from http_client.retry_after import retry_after
from tools.openapi.documents import origin_of
from tools.openapi.guard import AddressGuard, at_address
from tools.openapi.request import Part

if TYPE_CHECKING:
    import httpx

MAX_WAIT_S = 30.0
"""Longest Retry-After that is honored, in seconds."""
DOCUMENT_TIMEOUT_S = 60.0
_HEADERS = {"user-agent": "cinch", "accept-encoding": "gzip, deflate"}
_DOCUMENT_TYPES = "application/json, application/yaml, application/vnd.oai.openapi, */*;q=0.5"


class Message(Struct, frozen=True):
    """A complete request. It may contain secrets."""

    method: str
    """Method in capital letters."""
    url: str
    """URL with query."""
    headers: Mapping[str, str] = {}
    """Headers, with names in lower case."""
    content: bytes = b""
    """Body."""
    parts: tuple[Part, ...] = ()
    """Fields of a multipart body, in place of `content`."""

    def __repr__(self) -> str:
        return f"Message({self.method} {shown_url(self.url)})"


class Reply(Struct, frozen=True):
    """A response."""

    status: int
    """HTTP status."""
    reason: str
    """Text of the status."""
    headers: Mapping[str, str]
    """Headers with lower-case names."""
    body: bytes = b""
    """Body, decompressed."""
    is_truncated: bool = False
    """True if the body was longer than the limit."""
    is_foreign: bool = False
    """True if it is a redirect to another origin."""

    @property
    def is_success(self) -> bool:
        return 200 <= self.status < 300


class Client:
    """Sends requests of one API; connections are opened with the first.

    Args:
        read_timeout: Seconds to wait for data.
        guard: Check of the addresses that are connected to.
    """

    def __init__(self, read_timeout: float, guard: AddressGuard) -> None:
        self.guard = guard
        self._read_timeout = read_timeout
        self._pools: dict[tuple[str, str, int], Pool] = {}

    async def send(self, message: Message, max_bytes: int) -> Reply:
        """Return the response to a request, after redirects and at most one retry.

        Args:
            message: The request.
            max_bytes: Bytes of the body that are read.

        Raises:
            ProviderError: The service cannot be reached, or its response is not valid.
        """
        reply = await self._follow(message, max_bytes)
        if reply.status in (429, 503) and message.method in ("GET", "HEAD"):
            delay = retry_after(reply.headers)
            if delay is not None and delay <= MAX_WAIT_S:
                await asyncio.sleep(delay)
                return await self._follow(message, max_bytes)
        return reply

    async def fetch(self, url: str, max_bytes: int) -> bytes:
        """Return a document.

        Raises:
            ConfigError: It cannot be fetched.
        """
        shown = shown_url(url)
        try:
            async with asyncio.timeout(DOCUMENT_TIMEOUT_S):
                reply = await self.send(Message("GET", url, {"accept": _DOCUMENT_TYPES}), max_bytes)
        except TimeoutError as error:
            raise ConfigError(f"{shown}: not received within {DOCUMENT_TIMEOUT_S:g} s") from error
        except ProviderError as error:
            raise ConfigError(f"{shown}: {error}") from error
        if reply.is_foreign:
            raise ConfigError(
                f"{shown}: redirects to {shown_url(reply.headers['location'])}; configure that address if you trust it"
            )
        if not reply.is_success:
            raise ConfigError(f"{shown}: {reply.status} {reply.reason}")
        return reply.body

    async def close(self) -> None:
        """Close the connections of the running event loop."""
        for pool in self._pools.values():
            await pool.close()

    async def _follow(self, message: Message, max_bytes: int) -> Reply:
        reply = await self._exchange(message, max_bytes)
        for _ in range(MOST_REDIRECTS):
            try:
                target = redirect_target(message.url, reply.status, reply.headers)
            except ValueError:
                return reply
            if target is None:
                return reply
            if origin_of(target) != origin_of(message.url):
                # Credentials must not reach another host, and neither must the data of the call.
                return replace(reply, is_foreign=True)
            message = _redirected(message, reply.status, target)
            reply = await self._exchange(message, max_bytes)
        return reply

    async def _exchange(self, message: Message, max_bytes: int) -> Reply:
        pool = self._pool(message.url)
        async with pool.client() as client:
            with connection_error(shown_url(message.url), pool.proxy):
                addresses = await self.guard.addresses(message.url, is_proxied=pool.proxy is not None)
                requests = [_httpx_request(message, self._read_timeout, address) for address in addresses or [""]]
                async with open_first(client, requests) as response:
                    body = bytearray()
                    await fill(body, response, max_bytes + 1)
                    headers = {name.lower(): value for name, value in response.headers.items()}
                    kept, is_truncated = bytes(body[:max_bytes]), len(body) > max_bytes
                    return Reply(response.status_code, response.reason_phrase, headers, kept, is_truncated)

    def _pool(self, url: str) -> Pool:
        return self._pools.setdefault(origin_of(url), Pool(url))


def _redirected(message: Message, status: int, target: str) -> Message:
    if status == 303 or (status in (301, 302) and message.method == "POST"):
        headers = {name: value for name, value in message.headers.items() if name != "content-type"}
        method = message.method if message.method in ("GET", "HEAD") else "GET"
        return Message(method, target, headers)
    return replace(message, url=target)


def _httpx_request(message: Message, read_timeout: float, address: str = "") -> httpx.Request:
    """Return the request for httpx; with an address, it connects there, under the name of the host."""
    import httpx

    extensions: dict[str, Any] = {"timeout": httpx.Timeout(read_timeout, connect=CONNECT_SECONDS).as_dict()}
    url, host = message.url, {}
    if address:
        url, authority, name = at_address(url, address)
        host = {"host": authority}
        if name and url.startswith("https:"):
            # The name in the certificate is that of the host, not the address.
            extensions["sni_hostname"] = name
    texts = {**host, **_HEADERS, **message.headers}
    # As bytes: httpx would reject what is not ASCII.
    headers = [(name.encode("latin-1", "replace"), value.encode("latin-1", "replace")) for name, value in texts.items()]
    if message.parts:
        return httpx.Request(message.method, url, headers=headers, files=list(message.parts), extensions=extensions)
    return httpx.Request(message.method, url, headers=headers, content=message.content or None, extensions=extensions)
