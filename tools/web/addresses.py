"""URLs that may be fetched, and network addresses that may be connected to.

A URL is split once, strictly, and put together again from its parts, so that no other parser can find another host in
it. Names are resolved once; the addresses that were checked are those that are connected to.
"""

from __future__ import annotations

import asyncio
import ipaddress
import re
import socket
from collections.abc import Sequence
from contextlib import suppress
from urllib.parse import quote, urlsplit

from msgspec import Struct

from harness.approval.hosts import Address, address_of, canonical_host

LONGEST_URL = 4_000
DEFAULT_PORTS = {"http": 80, "https": 443}

_UNSAFE = re.compile(r"[\x00-\x20\x7f\\\"<>^`{|}]")
_LOCAL_NAMES = ("localhost", "local", "internal", "intranet", "lan", "home.arpa", "localdomain")
_NAT64 = ipaddress.IPv6Network("64:ff9b::/96")
_TUNNELS = tuple(
    map(
        ipaddress.IPv6Network, ("::/96", "::ffff:0:0/96", "::ffff:0:0:0/96", "64:ff9b:1::/48", "2001::/32", "2002::/16")
    )
)
"""IPv6 networks whose addresses contain IPv4 addresses; no public site has such an address."""


class BlockedAddress(Exception):
    """A URL must not be fetched; the text is an instruction for the model."""


class WebUrl(Struct, frozen=True):
    """Parts of an absolute URL."""

    scheme: str
    """`http` or `https`."""
    host: str
    """Host in lower case, an international name in Punycode; an IPv6 address without brackets."""
    port: int
    """Port."""
    target: str
    """Path and query, percent-encoded."""

    @property
    def authority(self) -> str:
        """Host, with the port unless it is the usual one."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return host if self.port == DEFAULT_PORTS[self.scheme] else f"{host}:{self.port}"

    @property
    def origin(self) -> str:
        return f"{self.scheme}://{self.authority}"

    def __str__(self) -> str:
        return self.origin + self.target


def parse_url(text: str) -> WebUrl:
    """Return the parts of a URL; its fragment is dropped.

    Raises:
        BlockedAddress: It is not a URL that can be fetched.
    """
    text = text.strip()
    if len(text) > LONGEST_URL:
        raise BlockedAddress(f"The URL is longer than {LONGEST_URL:,} characters.")
    if found := _UNSAFE.search(text):
        raise BlockedAddress(f"The URL contains {found[0]!r}; encode such characters with %.")
    try:
        parts = urlsplit(text)
        host, port = parts.hostname or "", parts.port
    except ValueError as error:
        raise BlockedAddress(f"This is not a valid URL: {error}.") from error
    if parts.scheme not in DEFAULT_PORTS or not host:
        raise BlockedAddress("Only absolute URLs with http:// or https:// can be fetched. Read local files instead.")
    if "@" in parts.netloc:
        raise BlockedAddress("URLs with a user name or password are not fetched. Remove the part before @.")
    path = quote(parts.path or "/", safe="/%:@!$&'()*+,;=~-._")
    query = f"?{quote(parts.query, safe='/%:@!$&()*+,;=~-._?[]' + chr(39))}" if parts.query else ""
    try:
        host = canonical_host(host)
    except ValueError as error:
        raise BlockedAddress(f"{error}.") from error
    return WebUrl(parts.scheme, host, port or DEFAULT_PORTS[parts.scheme], path + query)


def written_host(host: str) -> str:
    """Return an international host name in its own letters; empty if it is not one."""
    if "xn--" not in host:
        return ""
    import idna

    try:
        return idna.decode(host)
    except idna.IDNAError:
        return ""


class AddressPolicy(Struct, frozen=True):
    """Hosts and addresses that may be connected to: all public ones, and those that the user allows."""

    allowed: tuple[str, ...] = ()
    """Private hosts to allow: names, `*.name` for all below a name, addresses, networks such as `10.0.0.0/8`, or `*`
    for all."""

    def check_name(self, host: str) -> None:
        """Check a host before its name is resolved; the only check that is possible behind a proxy.

        Raises:
            BlockedAddress: It is a private host.
        """
        if self._allows_name(host):
            return
        if any(f".{host}".endswith(f".{name}") for name in _LOCAL_NAMES):
            raise BlockedAddress(_refusal(host, "is a name for this machine or the local network"))
        if (address := address_of(host)) is not None:
            self.check_address(address, host)
        elif "." not in host:
            raise BlockedAddress(_refusal(host, "has no domain, so it is a name in the local network"))

    def check_address(self, address: Address, host: str) -> None:
        """Check an address that a connection would be made to.

        Raises:
            BlockedAddress: It is not a public address.
        """
        if not (self._allows_name(host) or is_public(address) or self._allows_address(address)):
            what = "is" if str(address) == host else f"resolves to {address},"
            raise BlockedAddress(_refusal(host, f"{what} a private, local or reserved address"))

    async def resolve(self, host: str, port: int) -> Sequence[str]:
        """Return the addresses of a host, all of them checked.

        Raises:
            BlockedAddress: One of them is not public.
            OSError: The name cannot be resolved.
        """
        self.check_name(host)
        loop = asyncio.get_running_loop()
        found = await loop.getaddrinfo(host, port, type=socket.SOCK_STREAM)
        addresses = list(dict.fromkeys(str(entry[4][0]) for entry in found))
        for address in addresses:
            self.check_address(ipaddress.ip_address(address), host)
        return addresses

    def _allows_name(self, host: str) -> bool:
        return any(_covers_name(entry.lower(), host) for entry in self.allowed)

    def _allows_address(self, address: Address) -> bool:
        for entry in self.allowed:
            with suppress(ValueError):
                if address in ipaddress.ip_network(entry, strict=False):
                    return True
        return False


def is_public(address: Address) -> bool:
    """Return True if an address is reachable from anywhere, so that no private service can be behind it."""
    if isinstance(address, ipaddress.IPv6Address):
        if address in _NAT64:
            return is_public(ipaddress.IPv4Address(int(address) & 0xFFFFFFFF))
        if address.scope_id is not None or any(address in network for network in _TUNNELS):
            return False
    return address.is_global and not (address.is_multicast or address.is_reserved)


def _covers_name(entry: str, host: str) -> bool:
    if entry == "*":
        return True
    return host.endswith(entry[1:]) if entry.startswith("*.") else host == entry.strip("[]")


def _refusal(host: str, why: str) -> str:
    return (
        f"{host} {why}. Such addresses are not fetched, because a page could use them to reach services that are not "
        "public. The user can allow it with the setting web.allow_private."
    )
