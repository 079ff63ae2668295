"""HTTP transport to MCP servers and their authorization servers, with the proxies and certificates of cinch."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Mapping

import httpx2

from http_client.logged_urls import hide_secrets_in_logs
from http_client.proxies import client_proxy, proxy_for
from http_client.text import plain
from http_client.tls import explain_rejection, ssl_context, unused_context

KEEP_ALIVE_S = 55.0
_AUTHENTICATION = "cinch.authentication"


class NetworkTransport(httpx2.AsyncBaseTransport):
    """Sends each request directly or through the proxy for its address: a login involves several servers.

    Args:
        environ: Environment variables that name proxies and certificates.

    Requests raise `RequestRejected` if the environment names an unusable proxy or certificate.
    """

    def __init__(self, environ: Mapping[str, str]) -> None:
        hide_secrets_in_logs("httpx2")
        self._environ = environ
        self._lock = asyncio.Lock()
        self._transports: dict[str, httpx2.AsyncHTTPTransport] = {}
        self._context: ssl.SSLContext | None = None

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        origin = str(request.url.copy_with(path="/", query=None, fragment=None, userinfo=b""))
        async with self._lock:
            if origin not in self._transports:
                # Certificates take 40 ms, and the settings of the system may take longer.
                self._transports[origin] = await asyncio.to_thread(self._build, origin)
        return await self._transports[origin].handle_async_request(request)

    async def aclose(self) -> None:
        transports, self._transports = self._transports, {}
        for transport in transports.values():
            await transport.aclose()

    def _build(self, origin: str) -> httpx2.AsyncHTTPTransport:
        proxy = proxy_for(origin, self._environ)
        is_encrypted = origin.startswith("https:") or (proxy is not None and proxy.is_encrypted)
        if is_encrypted and self._context is None:
            self._context = ssl_context(self._environ)
        context = self._context if is_encrypted and self._context else unused_context()
        return httpx2.AsyncHTTPTransport(
            verify=context,
            proxy=client_proxy(httpx2.Proxy, httpx2.InvalidURL, proxy, context) if proxy else None,
            trust_env=False,
            limits=httpx2.Limits(max_connections=None, max_keepalive_connections=20, keepalive_expiry=KEEP_ALIVE_S),
        )


def mark_authentication(request: httpx2.Request) -> None:
    """Mark a request for a token or metadata, whose response says nothing about the connection to the MCP server."""
    request.extensions = {**request.extensions, _AUTHENTICATION: True}


def is_authentication(request: httpx2.Request) -> bool:
    """Return True for a marked request."""
    return _AUTHENTICATION in request.extensions


def connection_failure(error: httpx2.HTTPError) -> str:
    """Return why a request failed, as the end of a sentence that names the host."""
    host = error.request.url.netloc.decode("ascii")
    cause: BaseException | None = error
    while cause is not None:
        if isinstance(cause, ssl.SSLCertVerificationError):
            return explain_rejection(cause, host)
        cause = cause.__cause__ or cause.__context__
    if isinstance(error, httpx2.UnsupportedProtocol):
        return "the server names an address that is neither http nor https"
    if isinstance(error, httpx2.TimeoutException):
        return f"{host} did not answer in time"
    return f"cannot connect to {host}: {plain(str(error)) or type(error).__name__}"
