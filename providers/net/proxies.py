"""Which proxy leads to an address: the one the usual variables name, or else the settings of the system.

Read here and not by httpx, which takes a network in NO_PROXY for a name, stumbles over a variable that it will not use,
and quotes a broken one with its password.
"""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Mapping
from dataclasses import field
from urllib.parse import SplitResult, urlsplit

from harness.lazy_dataclass import dataclass
from providers.endpoint import is_loopback

OF_THE_SYSTEM = "the settings of this system"
USUAL_PORTS = {"http": 80, "https": 443}


@dataclass(frozen=True, slots=True)
class Proxy:
    """A proxy and who named it: a variable or the system. Its address may hold a password and is for nobody's eyes."""

    url: str = field(repr=False)
    source: str

    @property
    def shown(self) -> str:
        """The address without a user name and a password."""
        scheme, _, rest = self.url.partition("://")
        return f"{scheme}://{rest.rpartition('@')[2].rstrip('/')}"

    @property
    def is_encrypted(self) -> bool:
        return self.url.startswith("https:")


def proxy_for(url: str, environment: Mapping[str, str]) -> Proxy | None:
    """The proxy for an address; None if it is reached without one, as all of this machine is."""
    to = urlsplit(url)
    if is_loopback(to.hostname or ""):
        return None
    for name in (f"{to.scheme}_proxy", "all_proxy"):
        for variable in (name, name.upper()):
            if named := environment.get(variable, "").strip():
                return None if _is_excepted(to, environment) else Proxy(_tidy(named), variable)
    return _of_the_system(to)


def _is_excepted(to: SplitResult, environment: Mapping[str, str]) -> bool:
    excepted = environment.get("no_proxy") or environment.get("NO_PROXY") or ""
    host, port = to.hostname or "", to.port or USUAL_PORTS.get(to.scheme)
    return any(_covers(entry.lower(), host, port) for entry in re.split(r"[\s,;]+", excepted) if entry)


def _covers(entry: str, host: str, port: int | None) -> bool:
    """Whether `*`, a name with all below it, an address or a network covers a host, perhaps at one port only."""
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
    # What GNOME calls it.
    return re.sub(r"^socks://", "socks5://", named)


def _of_the_system(to: SplitResult) -> Proxy | None:
    # httpx has loaded it by now; at start-up it would cost 8 ms.
    from urllib.request import getproxies, proxy_bypass

    named = getproxies()
    # What begins with an environment's variable has been looked at; of others, macOS and Windows tell.
    address = named.get(to.scheme) or named.get("all")
    return Proxy(_tidy(address), OF_THE_SYSTEM) if address and not proxy_bypass(to.hostname or "") else None
