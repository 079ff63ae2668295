"""Options of the web tools."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Literal, TypeAlias

from msgspec import Struct

from harness.ports.provider import Hosting

SearchSetting: TypeAlias = Literal["auto", "native", "brave", "searxng", "tavily", "exa", "off"]
"""Search service; `native` is that of the model's service, `auto` that or the first one with a key."""

SEARCH_KEYS: dict[str, tuple[str, ...]] = {
    "brave": ("BRAVE_API_KEY", "BRAVE_SEARCH_API_KEY", "BRAVE_SEARCH_KEY"),
    "tavily": ("TAVILY_API_KEY",),
    "exa": ("EXA_API_KEY",),
    "searxng": ("SEARXNG_URL",),
}
"""Environment variables with the key of each search service, or its URL, in the order in which `auto` chooses."""


def no_key(service: str, variables: Sequence[str]) -> str:
    """Return no key for any service."""
    return ""


class WebOptions(Struct, frozen=True):
    """Options of the web tools."""

    allow_private: tuple[str, ...] = ()
    """Private hosts that may be fetched; see `AddressPolicy`."""
    robots: bool = True
    """True to fetch only what robots.txt of a host allows."""
    service: str = ""
    """Name of the search service; empty if there is none, or if the service of the model searches."""
    hosting: Hosting = ""
    """Use of web search by the service of the model."""
    find_key: Callable[[str, Sequence[str]], str] = no_key
    """Returns the key of a search service by its name and variables, or the URL of a server; may block."""
