"""Protection of private networks from documents of the internet."""

from __future__ import annotations

import ipaddress
from urllib.parse import urlsplit

from harness.errors import NetworkError, RequestRejected
from tools.web.addresses import AddressPolicy, BlockedAddress, WebUrl, parse_url

MAX_ADDRESSES = 4
"""Addresses of a host that are tried."""
_PUBLIC = AddressPolicy()
_ANY = AddressPolicy(("*",))


class AddressGuard:
    """Addresses that the requests of an API may be sent to.

    The first request fetches the document. If it comes from a public address, later requests must go to public
    addresses too: the document could name any server in the user's network.

    Args:
        is_active: False if the user chose the server, or the document is not from a URL.
    """

    def __init__(self, *, is_active: bool) -> None:
        self._is_active = is_active
        self._is_decided = False

    def check_name(self, url: str) -> None:
        """Check the host of a URL before its name is resolved.

        Raises:
            BlockedAddress: It is not valid, or it is a name or address in a private network.
        """
        if self._is_active:
            _PUBLIC.check_name(_target(url).host)

    async def addresses(self, url: str, *, is_proxied: bool) -> list[str]:
        """Return the checked addresses to connect to; an empty list if any are allowed or a proxy resolves the name.

        Args:
            url: URL of the request.
            is_proxied: True if a proxy makes the connection.

        Raises:
            NetworkError: The name cannot be resolved.
            RequestRejected: An address is in a private network.
        """
        if not self._is_active:
            return []
        target, found = _parsed(url), list[str]()
        if not is_proxied:
            try:
                found = [*await _ANY.resolve(target.host, target.port)][:MAX_ADDRESSES]
            except (OSError, UnicodeError) as error:
                raise NetworkError(f"DNS lookup failed for {target.host}: check the network and the URL") from error
        try:
            _PUBLIC.check_name(target.host)
            for address in found:
                _PUBLIC.check_address(ipaddress.ip_address(address), target.host)
        except BlockedAddress as error:
            if self._is_decided:
                raise _refusal(target.host) from error
            # The document comes from a private network itself.
            self._is_active = False
        self._is_decided = True
        return found


def at_address(url: str, address: str) -> tuple[str, str, str]:
    """Return a URL with an address in place of its host, the value of the Host header, and the name for TLS."""
    parts, target = urlsplit(url), _parsed(url)
    user = parts.netloc.rpartition("@")[0]
    host = f"[{address}]" if ":" in address else address
    netloc = f"{user}@{host}:{target.port}" if user else f"{host}:{target.port}"
    return parts._replace(netloc=netloc).geturl(), target.authority, "" if address == target.host else target.host


def _parsed(url: str) -> WebUrl:
    try:
        return _target(url)
    except BlockedAddress as error:
        raise RequestRejected(str(error)) from error


def _target(url: str) -> WebUrl:
    parts = urlsplit(url)
    return parse_url(f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}/")


def _refusal(host: str) -> RequestRejected:
    return RequestRejected(
        f"{host} is in a private network, and the document is not; set `server` in the configuration of the API"
    )
