"""Connection check of a service, step by step: DNS, TCP, proxy, TLS.

Runs only after a request has failed. The only secret it sends is a proxy's password, to that proxy.
"""

from __future__ import annotations

import asyncio
import os
import re
import socket
import ssl
from collections.abc import Callable, Iterator, Mapping
from contextlib import AsyncExitStack
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from msgspec import Struct

from cinch_tui.doctor.findings import Finding
from harness.structs import Redacted
from http_client.proxies import proxy_for
from http_client.tls import explain_rejection

if TYPE_CHECKING:
    import httpx

PORTS = {"http": 80, "https": 443, "socks5": 1080, "socks5h": 1080}
SECONDS = 5.0
TOLERABLE = timedelta(minutes=5)
# Certificate errors of OpenSSL.
NOT_YET_VALID, EXPIRED = 9, 10
CHECK_NETWORK = "check the address and your network; if you need a proxy: export HTTPS_PROXY=http://HOST:PORT"
PROXY_PASSED = ("proxy.start_tls.started", "socks.setup_socks5_connection.complete")
REQUEST_BEGINS = "http11.send_request_headers.started"
"""Events of httpcore."""


class ProxyServer(Redacted, frozen=True):
    """A proxy server."""

    _hidden = ("url",)

    url: str
    """With user name and password."""

    source: str
    """The environment variable that sets it, or the system configuration."""

    scheme: str
    host: str
    port: int
    has_login: bool

    @property
    def address(self) -> str:
        return f"{self.host}:{self.port}"

    @property
    def is_socks(self) -> bool:
        return self.scheme.startswith("socks")

    @property
    def variable(self) -> str:
        """The environment variable to set for another proxy."""
        return self.source if self.source.lower().endswith("_proxy") else "HTTPS_PROXY"


class ServiceRoute(Struct, frozen=True):
    """Route of a request, directly to the service or through a proxy."""

    host: str
    port: int
    is_encrypted: bool
    proxy: ProxyServer | None = None

    @property
    def address(self) -> str:
        return f"{self.host}:{self.port}"

    @property
    def meets_tls(self) -> bool:
        return self.is_encrypted or (self.proxy is not None and self.proxy.scheme == "https")

    @property
    def is_tunnelled(self) -> bool:
        """True if the proxy opens a tunnel; unencrypted requests are sent to an HTTP proxy directly."""
        return self.proxy is not None and (self.is_encrypted or self.proxy.is_socks)

    @property
    def next_hop(self) -> tuple[str, int]:
        """Host and port that cinch itself connects to."""
        return (self.proxy.host, self.proxy.port) if self.proxy else (self.host, self.port)

    @property
    def next_hop_text(self) -> str:
        return f"the proxy {self.proxy.address} (from {self.proxy.source})" if self.proxy else self.address


def route_to(url: str) -> ServiceRoute | None:
    """Return the route to a URL; None if the URL or that of the proxy is invalid."""
    try:
        parts, proxy = urlsplit(url), _proxy(url)
        host, port = parts.hostname or "", parts.port or PORTS.get(parts.scheme, 0)
    except ValueError:
        return None
    return ServiceRoute(host, port, parts.scheme == "https", proxy) if host and port else None


def _proxy(url: str) -> ProxyServer | None:
    proxy = proxy_for(url, os.environ)
    if proxy is None:
        return None
    parts = urlsplit(proxy.url)
    if not parts.hostname or not (port := parts.port or PORTS.get(parts.scheme)):
        raise ValueError("invalid proxy URL")
    return ProxyServer(proxy.url, proxy.source, parts.scheme, parts.hostname, port, bool(parts.username))


class _ConnectedError(Exception):
    """Raised before a request is sent: the check ends there."""


class ConnectionCheck(Struct, frozen=True):
    """Check of one route."""

    route: ServiceRoute
    trust: ssl.SSLContext
    """The TLS context that requests use."""

    seconds: float = SECONDS
    """Time limit of each step."""

    async def findings(self) -> list[Finding]:
        """Run the steps in order, up to the first that fails."""
        # Slow to import.
        from httpx import HTTPError
        from socksio import ProtocolError

        found: list[Finding] = []
        steps = ["name", "connection", *["proxy"] * self.route.is_tunnelled, *["TLS"] * self.route.is_encrypted]
        try:
            async with asyncio.timeout(self.seconds) as limit:

                def finish_step(message: str) -> None:
                    name = steps.pop(0)
                    if message:
                        found.append(Finding("ok", "", message, step=name))
                    limit.reschedule(asyncio.get_running_loop().time() + self.seconds)

                finish_step(await self._look_up())
                finish_step(await self._connect())
                if steps:
                    await self._shake_hands(finish_step)
        except (OSError, HTTPError, ProtocolError) as error:
            found += await self._failure(steps[0], error)
        return found

    async def clock(self) -> list[Finding]:
        """Compare this machine's clock with the service's, if it sends a date."""
        # Slow to import.
        from email.utils import parsedate_to_datetime

        from httpx import HTTPError
        from socksio import ProtocolError

        try:
            async with asyncio.timeout(self.seconds), self._client(_believing_all()) as client:
                response = await client.head(self._url)
            ahead = datetime.now(UTC) - parsedate_to_datetime(response.headers["date"])
        except (OSError, HTTPError, ProtocolError, KeyError, ValueError):
            return []
        if abs(ahead) <= TOLERABLE:
            return []
        minutes = abs(ahead).total_seconds() / 60
        where = "ahead of" if ahead > timedelta() else "behind"
        text = f"this machine's clock is {minutes:,.0f} minutes {where} the service's"
        return [Finding("bad", "", text, "set the clock: certificates and signatures depend on the time", "clock")]

    async def _look_up(self) -> str:
        host, port = self.route.next_hop
        found = await asyncio.get_running_loop().getaddrinfo(host, port, type=socket.SOCK_STREAM)
        addresses = list(dict.fromkeys(str(entry[4][0]) for entry in found))
        # An IP address needs no lookup.
        return "" if addresses == [host] else f"{host} resolves to {', '.join(addresses[:2])}"

    async def _connect(self) -> str:
        # With a broken IPv6 route, IPv4 is tried after this delay.
        _, writer = await asyncio.open_connection(*self.route.next_hop, happy_eyeballs_delay=0.25)
        # No graceful shutdown is needed; the event loop closes the socket in its next iteration.
        writer.transport.abort()
        await asyncio.sleep(0)
        return f"{self.route.next_hop_text} accepts connections"

    async def _shake_hands(self, finish_step: Callable[[str], None]) -> None:
        """Pass the proxy and start TLS, as a request does, but send none."""
        route = self.route
        awaits_proxy = route.is_tunnelled
        opened = AsyncExitStack()

        async def trace(event: str, info: Mapping[str, Any]) -> None:
            nonlocal awaits_proxy
            if event.endswith("connect_tcp.complete"):
                opened.push_async_callback(info["return_value"].aclose)
            elif route.proxy and event in PROXY_PASSED:
                awaits_proxy = False
                finish_step(f"{route.proxy.address} connects to {route.address}")
            elif event == REQUEST_BEGINS and not awaits_proxy:
                raise _ConnectedError

        try:
            # httpcore leaves a connection open if a SOCKS proxy or TLS fails.
            async with opened, self._client(self.trust) as client:
                await client.head(self._url, extensions={"trace": trace})
        except _ConnectedError:
            if route.is_encrypted:
                finish_step(f"certificate of {route.host} is valid")

    def _client(self, trust: ssl.SSLContext) -> httpx.AsyncClient:
        import httpx

        proxy = self.route.proxy
        usable = httpx.Proxy(proxy.url, ssl_context=self.trust if proxy.scheme == "https" else None) if proxy else None
        return httpx.AsyncClient(
            verify=trust, proxy=usable, trust_env=False, timeout=None, headers={"User-Agent": "cinch"}
        )

    @property
    def _url(self) -> httpx.URL:
        import httpx

        scheme = "https" if self.route.is_encrypted else "http"
        return httpx.URL(scheme=scheme, host=self.route.host, port=self.route.port, path="/")

    async def _failure(self, step: str, error: Exception) -> list[Finding]:
        # httpx wraps the error of the system.
        cause = next((each for each in causes(error) if isinstance(each, OSError)), error)
        match step:
            case "name":
                message, remedy = self._diagnose_name(cause)
            case "connection":
                message, remedy = self._diagnose_connection(cause)
            case "proxy":
                message, remedy = self._diagnose_proxy(error, cause)
            case _:
                message, remedy = self._diagnose_tls(cause)
        is_clock = step == "TLS" and getattr(cause, "verify_code", 0) in (NOT_YET_VALID, EXPIRED)
        return [*(await self.clock() if is_clock else []), Finding("bad", "", message, remedy, step)]

    def _diagnose_name(self, error: Exception) -> tuple[str, str]:
        if proxy := self.route.proxy:
            message = f"DNS lookup failed for the proxy {proxy.address}, from {proxy.source}"
            return message, f"correct or unset {proxy.source}"
        is_silent = isinstance(error, TimeoutError) or getattr(error, "errno", 0) == socket.EAI_AGAIN
        reason = "no answer from a name server" if is_silent else "unknown host"
        return f"DNS lookup failed for {self.route.host}: {reason}", CHECK_NETWORK

    def _diagnose_connection(self, error: Exception) -> tuple[str, str]:
        target, proxy = self.route.next_hop_text, self.route.proxy
        if isinstance(error, TimeoutError):
            message = f"connecting to {target} timed out after {self.seconds:g} s; a firewall may block it"
        elif isinstance(error, ConnectionRefusedError):
            message = f"connection refused by {target}"
        else:
            message = f"{target} is unreachable: {getattr(error, 'strerror', '') or type(error).__name__}"
        return message, f"start the proxy, or correct or unset {proxy.source}" if proxy else CHECK_NETWORK

    def _diagnose_proxy(self, error: Exception, cause: Exception) -> tuple[str, str]:
        from httpx import ProxyError, RemoteProtocolError
        from socksio import ProtocolError

        proxy = self.route.proxy
        assert proxy is not None
        if isinstance(error, ProxyError):
            return self._diagnose_refusal(proxy, str(error))
        if isinstance(error, RemoteProtocolError | ProtocolError):
            kind, scheme = ("a SOCKS proxy", "socks5") if proxy.is_socks else ("an HTTP proxy", "http")
            message = f"{proxy.address}, from {proxy.source}, is not {kind}"
            return message, f"set the correct proxy: export {proxy.variable}={scheme}://HOST:PORT"
        if isinstance(cause, ssl.SSLError):
            message = f"TLS handshake with the proxy {proxy.address} failed: {_reason(cause)}"
            return message, f"most proxies use unencrypted HTTP: export {proxy.variable}=http://{proxy.address}"
        waited = f"does not answer within {self.seconds:g} s" if isinstance(cause, TimeoutError) else "closes it"
        message = f"{proxy.address} accepts the connection and {waited}"
        return message, f"check {proxy.source}, or ask the administrator of the proxy"

    def _diagnose_refusal(self, proxy: ProxyServer, answer: str) -> tuple[str, str]:
        address = self.route.address
        if re.match("407|Invalid username/password|Requested ", answer):
            message = "rejects the user name and password" if proxy.has_login else "requires a user name and password"
            remedy = f"export {proxy.variable}={proxy.scheme}://NAME:PASSWORD@{proxy.address}"
            return f"{proxy.address} {message} ({'SOCKS' if proxy.is_socks else answer})", remedy
        if answer.startswith("5"):
            message = f"{proxy.address} cannot reach {address} ({answer})"
            return message, "check the base URL, or ask the administrator of the proxy"
        denial = f"{proxy.address} denies the connection to {address}"
        remedy = f"ask the administrator of the proxy to allow {address}"
        if proxy.is_socks:
            return f"{denial}: {answer.rpartition(': ')[2].rstrip('.').lower()}", remedy
        return f"{denial} ({answer})", f"{remedy}, or add {self.route.host} to NO_PROXY"

    def _diagnose_tls(self, error: Exception) -> tuple[str, str]:
        address = self.route.address
        if isinstance(error, ssl.SSLCertVerificationError):
            message, _, remedy = explain_rejection(error, self.route.host).partition("; ")
            return message, remedy
        if isinstance(error, TimeoutError):
            message = f"TLS handshake with {address} timed out after {self.seconds:g} s"
        elif isinstance(error, ssl.SSLError):
            message = f"TLS handshake with {address} failed: {_reason(error)}"
        else:
            message = f"{address} closes the connection during the TLS handshake"
        return message, "a firewall may interfere; for a server without encryption, use an address with http://"


def causes(error: BaseException | None) -> Iterator[BaseException]:
    """Yield an exception and those that led to it."""
    while error is not None:
        yield error
        error = error.__cause__ or error.__context__


def _reason(error: ssl.SSLError) -> str:
    return (error.reason or "unknown reason").lower().replace("_", " ")


def _believing_all() -> ssl.SSLContext:
    """Return a TLS context without verification, used only to read the Date header of a server."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    return context
