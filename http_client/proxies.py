"""Proxy for an address: from environment variables, or from the system settings.

Not left to httpx, which misinterprets networks in NO_PROXY, fails on variables that it does not use, and quotes an
invalid one with its password.
"""

from __future__ import annotations

import ipaddress
import logging
import re
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Protocol, TypeVar
from urllib.parse import SplitResult, urlsplit

from harness.errors import RequestRejected
from harness.structs import Redacted
from http_client.addresses import is_loopback

if TYPE_CHECKING:
    import ssl

SYSTEM_SETTINGS = "the system settings"
DEFAULT_PORTS = {"http": 80, "https": 443}
_SOCKS_LOGGERS = ("httpcore.socks", "httpcore2.socks")


class _Url(Protocol):
    @property
    def host(self) -> str: ...


class _ClientProxy(Protocol):
    """Proxy of httpx or httpx2."""

    @property
    def url(self) -> _Url: ...


ClientProxyT = TypeVar("ClientProxyT", bound=_ClientProxy)


class Proxy(Redacted, frozen=True):
    """A proxy and its source: a variable or the system. The URL may contain a password and is never displayed."""

    _hidden = ("url",)

    url: str
    source: str

    @property
    def shown(self) -> str:
        """Return the address without user name and password."""
        scheme, _, rest = self.url.partition("://")
        return f"{scheme}://{rest.rpartition('@')[2].rstrip('/')}"

    @property
    def is_encrypted(self) -> bool:
        return self.url.startswith("https:")


def client_proxy(
    build: Callable[..., ClientProxyT], invalid_url: type[Exception], proxy: Proxy, context: ssl.SSLContext
) -> ClientProxyT:
    """Return a proxy for the HTTP client.

    Args:
        build: Class `Proxy` of the client's library.
        invalid_url: The exception `InvalidURL` of the library.
        proxy: The proxy.
        context: Certificates, for a proxy that is itself reached over TLS.

    Raises:
        RequestRejected: The URL of the proxy is invalid.
    """
    try:
        usable = build(proxy.url, ssl_context=context if proxy.is_encrypted else None)
    except (ValueError, invalid_url):
        usable = None
    if usable is None or not usable.url.host:
        # Outside the except clause, whose exception may contain the password.
        form = "http://host:port or socks5://host:port"
        raise RequestRejected(f"{proxy.source} is not a valid proxy URL; use {form}")
    # httpcore logs the details of each step, including the proxy's password.
    for name in _SOCKS_LOGGERS:
        logging.getLogger(name).setLevel(logging.INFO)
    return usable


def proxy_for(url: str, environment: Mapping[str, str]) -> Proxy | None:
    """Return the proxy for an address; None if it is reached directly, as loopback addresses are."""
    to = urlsplit(url)
    if is_loopback(to.hostname or ""):
        return None
    for name in (f"{to.scheme}_proxy", "all_proxy"):
        for variable in (name, name.upper()):
            if named := environment.get(variable, "").strip():
                return None if _is_excepted(to, environment) else Proxy(_tidy(named), variable)
    return _system_proxy(to)


def _is_excepted(to: SplitResult, environment: Mapping[str, str]) -> bool:
    excepted = environment.get("no_proxy") or environment.get("NO_PROXY") or ""
    host, port = to.hostname or "", to.port or DEFAULT_PORTS.get(to.scheme)
    return any(_covers(entry.lower(), host, port) for entry in re.split(r"[\s,;]+", excepted) if entry)


def _covers(entry: str, host: str, port: int | None) -> bool:
    """Return True if `*`, a domain, an address or a network matches a host, optionally at one port only."""
    entry = entry.rpartition("://")[2].rstrip("/")
    if with_port := re.fullmatch(r"(\[.+\]|[^:]+):(\d+)", entry):
        return int(with_port[2]) == port and _covers(with_port[1], host, port)
    name = entry.strip("[]")
    if name == "*":
        return True
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        name = name.lstrip("*.")
        return bool(name) and f".{host}".endswith(f".{name}")
    try:
        return address in ipaddress.ip_network(name, strict=False)
    except ValueError:
        return False


def _tidy(named: str) -> str:
    if "://" not in named:
        return f"http://{named}"
    # The scheme that GNOME uses.
    return re.sub(r"^socks://", "socks5://", named)


def _system_proxy(to: SplitResult) -> Proxy | None:
    # Loaded by httpx by now; at start-up it would cost 8 ms.
    from urllib.request import getproxies, proxy_bypass

    named = getproxies()
    # Environment variables were checked above; the rest comes from macOS and Windows.
    address = named.get(to.scheme) or named.get("all")
    return Proxy(_tidy(address), SYSTEM_SETTINGS) if address and not proxy_bypass(to.hostname or "") else None
