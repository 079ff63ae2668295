"""Which way a request takes: straight to the service, or through a proxy."""

from __future__ import annotations

import os
from dataclasses import field
from urllib.parse import unquote, urlsplit

from harness.lazy_dataclass import dataclass
from providers.net.proxies import proxy_for

PORTS = {"http": 80, "https": 443, "socks5": 1080, "socks5h": 1080}


@dataclass(frozen=True, slots=True)
class Proxy:
    """A proxy as it is connected to. `source` is the variable that names it, or the system."""

    scheme: str
    host: str
    port: int
    source: str
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
        """What to set for another one."""
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
        """Whether the proxy is asked for a way through: what is not encrypted is handed to an HTTP proxy as it is."""
        return self.proxy is not None and (self.is_encrypted or self.proxy.is_socks)

    @property
    def next_hop(self) -> tuple[str, int]:
        """Whom we connect to ourselves."""
        return (self.proxy.host, self.proxy.port) if self.proxy else (self.host, self.port)


def route_to(url: str) -> Route | None:
    """The way to an address; None where it, or that of the proxy, cannot be read."""
    try:
        parts, gate = urlsplit(url), _gate(url)
        host, port = parts.hostname or "", parts.port or PORTS.get(parts.scheme, 0)
    except ValueError:
        return None
    return Route(host, port, parts.scheme == "https", gate) if host and port else None


def _gate(url: str) -> Proxy | None:
    proxy = proxy_for(url, os.environ)
    if proxy is None:
        return None
    parts = urlsplit(proxy.url)
    if not parts.hostname or not (port := parts.port or PORTS.get(parts.scheme)):
        raise ValueError("no proxy that can be used")
    name, password = unquote(parts.username or ""), unquote(parts.password or "")
    return Proxy(parts.scheme, parts.hostname, port, proxy.source, name, password)
