"""Download of one URL, with checked addresses and bounded in size and time."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Mapping
from contextlib import AsyncExitStack, aclosing, asynccontextmanager
from typing import TYPE_CHECKING

from msgspec import Struct

from harness.errors import ProviderError
from http_client.connection_errors import connection_error
from http_client.content_type import media_type_of
from http_client.pool import Pool
from http_client.redirects import MOST_REDIRECTS, redirect_target
from http_client.responses import open_first, read_chunks
from http_client.text import plain
from tools.web.addresses import AddressPolicy, BlockedAddress, WebUrl, parse_url

if TYPE_CHECKING:
    import httpx

MOST_RECEIVED = 10 * 1024 * 1024
MOST_INFLATED = 32 * 1024 * 1024
MOST_ADDRESSES = 4
"""Addresses of a host that are tried."""
TOTAL_SECONDS = 30.0
TIMEOUTS = {"connect": 8.0, "read": 15.0}
"""Seconds to wait for a connection to one address, and for data."""
AGENT = "cinch"
"""Name of the program in robots.txt."""
HEADERS = {
    "user-agent": f"Mozilla/5.0 (compatible; {AGENT})",
    "accept": "text/markdown, text/html;q=0.9, application/xhtml+xml;q=0.9, text/plain;q=0.8, */*;q=0.5",
    "accept-language": "en, *;q=0.5",
    # The encodings that are inflated within limits.
    "accept-encoding": "gzip, deflate",
}


class FetchError(Exception):
    """A URL could not be fetched.

    Args:
        message: The reason, and what to do.
        page: Text of the page that the server sent instead.
    """

    def __init__(self, message: str, page: str = "") -> None:
        super().__init__(message)
        self.page = page


class Redirected(Exception):
    """A URL leads to another host, which needs its own approval.

    Args:
        status: HTTP status of the redirect.
        target: URL it leads to.
    """

    def __init__(self, status: int, target: str) -> None:
        super().__init__(target)
        self.status = status
        self.target = target


class Download(Struct, frozen=True):
    """A response that was received completely."""

    url: str
    """URL after redirects."""
    status: int
    """HTTP status."""
    headers: Mapping[str, str]
    """Response headers, names in lower case."""
    body: bytes
    """Decompressed body."""

    @property
    def media_type(self) -> str:
        """Media type in lower case, without parameters; empty if there is none."""
        return media_type_of(self.headers)


async def download(url: WebUrl, policy: AddressPolicy, *, seconds: float = TOTAL_SECONDS, kept: int = 0) -> Download:
    """Return the response to a GET request, after redirects within the same host.

    Args:
        url: URL to fetch.
        policy: Addresses that may be connected to.
        seconds: Time limit for everything.
        kept: Bytes after which the rest of the body is dropped; 0 = a body that is too large is an error.

    Raises:
        FetchError: There is no complete response; `status` of a response is not checked.
        BlockedAddress: An address is not public.
        Redirected: The URL leads to another host.
    """
    pools: dict[str, Pool] = {}
    try:
        async with asyncio.timeout(seconds):
            return await _follow(url, policy, pools, kept)
    except TimeoutError as error:
        raise FetchError(f"{url.origin} did not send the whole response within {seconds:.0f} s.") from error
    except ProviderError as error:
        raise FetchError(f"{str(error)[:1].upper()}{str(error)[1:]}.") from error
    finally:
        for pool in pools.values():
            await pool.close()


async def _follow(url: WebUrl, policy: AddressPolicy, pools: dict[str, Pool], kept: int) -> Download:
    for _ in range(MOST_REDIRECTS + 1):
        # Only one with TLS has loaded the certificate authorities.
        pool = pools.setdefault(url.scheme, Pool(url.origin))
        async with _response(url, policy, pool) as response:
            if (target := _target(url, response)) is None:
                headers = {name.lower(): value for name, value in response.headers.items()}
                return Download(str(url), response.status_code, headers, await _body(response, url, kept))
            url = _next_url(url, response.status_code, target, policy)
    raise FetchError(f"{url.origin} redirected more than {MOST_REDIRECTS} times; the last URL was {url}.")


def _target(url: WebUrl, response: httpx.Response) -> str | None:
    try:
        return redirect_target(str(url), response.status_code, response.headers)
    except ValueError as error:
        shown = plain(response.headers["location"])[:200]
        raise FetchError(f"{url} redirects to an invalid URL: {shown}") from error


def _next_url(url: WebUrl, status: int, location: str, policy: AddressPolicy) -> WebUrl:
    try:
        target = parse_url(location)
        policy.check_name(target.host)
    except BlockedAddress as error:
        raise BlockedAddress(f"{url} redirects to {plain(location)}. {error}") from error
    if target.host != url.host or (url.scheme, target.scheme) == ("https", "http"):
        raise Redirected(status, str(target))
    return target


@asynccontextmanager
async def _response(url: WebUrl, policy: AddressPolicy, pool: Pool) -> AsyncGenerator[httpx.Response]:
    policy.check_name(url.host)
    async with AsyncExitStack() as stack:
        client = await stack.enter_async_context(pool.client())
        stack.enter_context(connection_error(url.origin, pool.proxy))
        # A proxy resolves names itself.
        addresses = [url.host] if pool.proxy else await _addresses(url, policy)
        requests = [_request(client, url, address) for address in addresses]
        yield await stack.enter_async_context(open_first(client, requests))


async def _addresses(url: WebUrl, policy: AddressPolicy) -> list[str]:
    try:
        return [*await policy.resolve(url.host, url.port)][:MOST_ADDRESSES]
    except OSError as error:
        raise FetchError(
            f"DNS lookup failed for {url.host}: check the spelling of the host, and the network."
        ) from error


def _request(client: httpx.AsyncClient, url: WebUrl, address: str) -> httpx.Request:
    """Return a request that connects to a checked address, under the name of the host."""
    host = f"[{address}]" if ":" in address else address
    # The name in the certificate is that of the host, not the address.
    extensions = {} if address == url.host or url.scheme == "http" else {"sni_hostname": url.host}
    return client.build_request(
        "GET",
        f"{url.scheme}://{host}:{url.port}{url.target}",
        headers={**HEADERS, "host": url.authority},
        extensions={"timeout": {**client.timeout.as_dict(), **TIMEOUTS}, **extensions},
    )


async def _body(response: httpx.Response, url: WebUrl, kept: int) -> bytes:
    declared = response.headers.get("content-length", "")
    if not kept and declared.isdigit() and int(declared) > MOST_RECEIVED:
        raise FetchError(_too_large(url, f"{int(declared):,} bytes"))
    body = bytearray()
    async with aclosing(read_chunks(response)) as chunks:
        async for chunk in chunks:
            body += chunk
            if kept and len(body) >= kept:
                return bytes(body[:kept])
            if response.num_bytes_downloaded > MOST_RECEIVED or len(body) > MOST_INFLATED:
                raise FetchError(_too_large(url, "larger"))
    return bytes(body)


def _too_large(url: WebUrl, size: str) -> str:
    limit = MOST_RECEIVED // (1024 * 1024)
    return (
        f"The content of {url} is {size}; the limit is {limit} MB. Download it with a command, or find a smaller page."
    )
