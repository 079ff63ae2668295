"""Route of a request: directly to the service, or through a proxy."""

from __future__ import annotations

import os
from dataclasses import field
from urllib.parse import unquote, urlsplit

from harness.lazy_dataclass import dataclass
from providers.net.proxies import proxy_for

PORTS = {"http": 80, "https": 443, "socks5": 1080, "socks5h": 1080}


@dataclass(frozen=True, slots=True)
class Proxy:
    """A proxy server."""

    scheme: str
    host: str
    port: int
    source: str
    """The environment variable that sets it, or the system configuration."""

    username: str = field(default="", repr=False)
    password: str = field(default="", repr=False)

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


@dataclass(frozen=True, slots=True)
class Route:
    host: str
    port: int
    is_encrypted: bool
    proxy: Proxy | None = None

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


def route_to(url: str) -> Route | None:
    """Return the route to a URL; None if the URL or that of the proxy is invalid."""
    try:
        parts, proxy = urlsplit(url), _proxy(url)
        host, port = parts.hostname or "", parts.port or PORTS.get(parts.scheme, 0)
    except ValueError:
        return None
    return Route(host, port, parts.scheme == "https", proxy) if host and port else None


def _proxy(url: str) -> Proxy | None:
    proxy = proxy_for(url, os.environ)
    if proxy is None:
        return None
    parts = urlsplit(proxy.url)
    if not parts.hostname or not (port := parts.port or PORTS.get(parts.scheme)):
        raise ValueError("invalid proxy URL")
    name, password = unquote(parts.username or ""), unquote(parts.password or "")
    return Proxy(parts.scheme, parts.hostname, port, proxy.source, name, password)
