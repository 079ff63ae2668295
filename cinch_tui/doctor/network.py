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

from cinch_tui.doctor.diagnosis import diagnose_connection, diagnose_dns, diagnose_proxy, diagnose_tls
from cinch_tui.doctor.findings import Finding
from cinch_tui.doctor.hops import Connection, pass_proxy, server_date
from cinch_tui.doctor.route import Route
from harness.lazy_dataclass import dataclass

SECONDS = 5.0
TOLERABLE = timedelta(minutes=5)
# Certificate errors of OpenSSL.
NOT_YET_VALID, EXPIRED = 9, 10


@dataclass(frozen=True, slots=True)
class ConnectionCheck:
    """Check of one route."""

    route: Route
    trust: ssl.SSLContext
    """The TLS context that requests use."""

    seconds: float = SECONDS
    """Time limit of each step."""

    async def findings(self) -> list[Finding]:
        """Run the steps in order, up to the first that fails."""
        found: list[Finding] = []
        for step in (self._name, self._connection, self._proxy, self._tls):
            found.extend(await step())
            if any(finding.level == "bad" for finding in found):
                break
        return found

    async def clock(self) -> list[Finding]:
        """Compare this machine's clock with the service's, if it sends a date."""
        try:
            async with asyncio.timeout(self.seconds), self._line() as line:
                if self.route.is_encrypted:
                    await line.secure(self.route.host, _believing_all())
                server_time = await server_date(line, self.route.host)
        except OSError:
            return []
        return [] if server_time is None else _skew(server_time)

    async def _name(self) -> list[Finding]:
        host, port = self.route.next_hop
        try:
            async with asyncio.timeout(self.seconds):
                found = await asyncio.get_running_loop().getaddrinfo(host, port, type=socket.SOCK_STREAM)
        except OSError as error:
            return [diagnose_dns(self.route, error)]
        addresses = list(dict.fromkeys(str(entry[4][0]) for entry in found))
        # An IP address needs no lookup.
        named = f"{host} resolves to {', '.join(addresses[:2])}"
        return [] if addresses == [host] else [Finding("ok", "", named, step="name")]

    async def _connection(self) -> list[Finding]:
        try:
            async with asyncio.timeout(self.seconds):
                await (await Connection.to(*self.route.next_hop)).close()
        except OSError as error:
            return [diagnose_connection(self.route, error, self.seconds)]
        proxy = self.route.proxy
        target = f"the proxy {proxy.address} (from {proxy.source})" if proxy else self.route.address
        return [Finding("ok", "", f"{target} accepts connections", step="connection")]

    async def _proxy(self) -> list[Finding]:
        proxy = self.route.proxy
        if proxy is None or not self.route.is_tunnelled:
            return []
        try:
            async with asyncio.timeout(self.seconds), self._to_next_hop() as line:
                return [await pass_proxy(line, self.route, proxy)]
        except OSError as error:
            return [diagnose_proxy(proxy, error, self.seconds)]

    async def _tls(self) -> list[Finding]:
        if not self.route.is_encrypted:
            return []
        try:
            async with asyncio.timeout(self.seconds), self._line() as line:
                await line.secure(self.route.host, self.trust)
        except ssl.SSLCertVerificationError as error:
            is_of_dates = error.verify_code in (NOT_YET_VALID, EXPIRED)
            return [*(await self.clock() if is_of_dates else []), diagnose_tls(self.route, error, self.seconds)]
        except OSError as error:
            return [diagnose_tls(self.route, error, self.seconds)]
        return [Finding("ok", "", f"certificate of {self.route.host} is valid", step="TLS")]

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
