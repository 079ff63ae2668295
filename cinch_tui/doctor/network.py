"""Connection check of a service, step by step: DNS, TCP, proxy, TLS.

Runs only after a request has failed. The only secret it sends is a proxy's password, to that proxy.
"""

from __future__ import annotations

import asyncio
import socket
import ssl
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta

from msgspec import Struct

from cinch_tui.doctor.connection import Connection, ProxyRefusal, ServiceRoute, pass_proxy, server_date
from cinch_tui.doctor.findings import Finding
from providers.net.tls import explain_rejection

SECONDS = 5.0
TOLERABLE = timedelta(minutes=5)
# Certificate errors of OpenSSL.
NOT_YET_VALID, EXPIRED = 9, 10
CHECK_NETWORK = "check the address and your network; if you need a proxy: export HTTPS_PROXY=http://HOST:PORT"


class ConnectionCheck(Struct, frozen=True):
    """Check of one route."""

    route: ServiceRoute
    trust: ssl.SSLContext
    """The TLS context that requests use."""

    seconds: float = SECONDS
    """Time limit of each step."""

    async def findings(self) -> list[Finding]:
        """Run the steps in order, up to the first that fails."""
        found: list[Finding] = []
        for name, step, diagnose in (
            ("name", self._look_up, self._diagnose_name),
            ("connection", self._connect, self._diagnose_connection),
            ("proxy", self._pass_proxy, self._diagnose_proxy),
            ("TLS", self._start_tls, self._diagnose_tls),
        ):
            try:
                async with asyncio.timeout(self.seconds):
                    message = await step()
            except ProxyRefusal as refusal:
                return [*found, Finding("bad", "", refusal.message, refusal.remedy, name)]
            except OSError as error:
                if name == "TLS" and getattr(error, "verify_code", 0) in (NOT_YET_VALID, EXPIRED):
                    found += await self.clock()
                return [*found, Finding("bad", "", *diagnose(error), name)]
            if message:
                found.append(Finding("ok", "", message, step=name))
        return found

    async def clock(self) -> list[Finding]:
        """Compare this machine's clock with the service's, if it sends a date."""
        try:
            async with asyncio.timeout(self.seconds), self._line() as line:
                if self.route.is_encrypted:
                    await line.secure(self.route.host, _believing_all())
                server_time = await server_date(line, self.route.host)
        except (OSError, ProxyRefusal):
            return []
        return [] if server_time is None else _skew(server_time)

    async def _look_up(self) -> str:
        host, port = self.route.next_hop
        found = await asyncio.get_running_loop().getaddrinfo(host, port, type=socket.SOCK_STREAM)
        addresses = list(dict.fromkeys(str(entry[4][0]) for entry in found))
        # An IP address needs no lookup.
        return "" if addresses == [host] else f"{host} resolves to {', '.join(addresses[:2])}"

    def _diagnose_name(self, error: OSError) -> tuple[str, str]:
        if proxy := self.route.proxy:
            message = f"DNS lookup failed for the proxy {proxy.address}, from {proxy.source}"
            return message, f"correct or unset {proxy.source}"
        is_silent = isinstance(error, TimeoutError) or error.errno == socket.EAI_AGAIN
        reason = "no answer from a name server" if is_silent else "unknown host"
        return f"DNS lookup failed for {self.route.host}: {reason}", CHECK_NETWORK

    async def _connect(self) -> str:
        await (await Connection.to(*self.route.next_hop)).close()
        return f"{self.route.next_hop_text} accepts connections"

    def _diagnose_connection(self, error: OSError) -> tuple[str, str]:
        target, proxy = self.route.next_hop_text, self.route.proxy
        if isinstance(error, TimeoutError):
            message = f"connecting to {target} timed out after {self.seconds:g} s; a firewall may block it"
        elif isinstance(error, ConnectionRefusedError):
            message = f"connection refused by {target}"
        else:
            message = f"{target} is unreachable: {error.strerror or type(error).__name__}"
        return message, f"start the proxy, or correct or unset {proxy.source}" if proxy else CHECK_NETWORK

    async def _pass_proxy(self) -> str:
        if not (self.route.proxy and self.route.is_tunnelled):
            return ""
        async with self._to_next_hop() as line:
            return await pass_proxy(line, self.route, self.route.proxy)

    def _diagnose_proxy(self, error: OSError) -> tuple[str, str]:
        proxy = self.route.proxy
        assert proxy is not None
        if isinstance(error, ssl.SSLError):
            message = f"TLS handshake with the proxy {proxy.address} failed: {_reason(error)}"
            return message, f"most proxies use unencrypted HTTP: export {proxy.variable}=http://{proxy.address}"
        waited = f"does not answer within {self.seconds:g} s" if isinstance(error, TimeoutError) else "closes it"
        message = f"{proxy.address} accepts the connection and {waited}"
        return message, f"check {proxy.source}, or ask the administrator of the proxy"

    async def _start_tls(self) -> str:
        if not self.route.is_encrypted:
            return ""
        async with self._line() as line:
            await line.secure(self.route.host, self.trust)
        return f"certificate of {self.route.host} is valid"

    def _diagnose_tls(self, error: OSError) -> tuple[str, str]:
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

    @asynccontextmanager
    async def _line(self) -> AsyncGenerator[Connection]:
        """Open a connection to the service, through the proxy if there is one."""
        async with self._to_next_hop() as line:
            if self.route.proxy and self.route.is_tunnelled:
                await pass_proxy(line, self.route, self.route.proxy)
            yield line

    @asynccontextmanager
    async def _to_next_hop(self) -> AsyncGenerator[Connection]:
        line = await Connection.to(*self.route.next_hop)
        try:
            if self.route.proxy and self.route.proxy.scheme == "https":
                await line.secure(self.route.proxy.host, self.trust)
            yield line
        finally:
            await line.close()


def _reason(error: ssl.SSLError) -> str:
    return (error.reason or "unknown reason").lower().replace("_", " ")


def _believing_all() -> ssl.SSLContext:
    """Return a TLS context without verification, used only to read the Date header of a server."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    return context


def _skew(server_time: datetime) -> list[Finding]:
    ahead = datetime.now(UTC) - server_time
    if abs(ahead) <= TOLERABLE:
        return []
    minutes = abs(ahead).total_seconds() / 60
    where = "ahead of" if ahead > timedelta() else "behind"
    text = f"this machine's clock is {minutes:,.0f} minutes {where} the service's"
    return [Finding("bad", "", text, "set the clock: certificates and signatures depend on the time", "clock")]
