"""Hosts in one spelling, so that a rule for a host matches every URL that leads to it."""

from __future__ import annotations

import ipaddress
import re
import socket
from contextlib import suppress
from typing import TypeAlias

Address: TypeAlias = "ipaddress.IPv4Address | ipaddress.IPv6Address"

_NAME = re.compile(r"(?=.{1,253}\Z)(?!-)[a-z0-9_-]{1,63}(\.[a-z0-9_-]{1,63})*")
_NUMBERS = re.compile(r"[0-9a-fx.]+")


def canonical_host(host: str) -> str:
    """Return a host in lower case, an international name in Punycode, an address in its usual form.

    Args:
        host: Name or address; an IPv6 address with or without brackets.

    Raises:
        ValueError: It is neither; the text says why.
    """
    name = host.lower().rstrip(".")
    if ":" in name:
        return _canonical_ipv6(name)
    if not name.isascii():
        # Its tables would delay the start, and few hosts need them.
        import idna

        try:
            name = idna.encode(name, uts46=True).decode("ascii").rstrip(".")
        except idna.IDNAError as error:
            raise ValueError(f"{host!r} is not a valid host name: {error}") from error
    if not _NAME.fullmatch(name):
        raise ValueError(f"{host!r} is not a valid host name")
    address = address_of(name)
    return str(address) if address else name


def address_of(host: str) -> Address | None:
    """Return the address that a host spells, also in the decimal, octal and hexadecimal forms that resolvers accept."""
    with suppress(ValueError):
        return ipaddress.ip_address(host)
    if _NUMBERS.fullmatch(host):
        with suppress(OSError):
            return ipaddress.IPv4Address(socket.inet_aton(host))
    return None


def _canonical_ipv6(host: str) -> str:
    inner = host[1:-1] if host.startswith("[") and host.endswith("]") else host
    try:
        address = ipaddress.IPv6Address(inner)
    except ValueError as error:
        raise ValueError(f"{host!r} is not a valid IPv6 address") from error
    return str(address.ipv4_mapped or address)
