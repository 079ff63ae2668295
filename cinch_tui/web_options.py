"""Options of the web tools, by the settings and the keys that are known."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from cinch_tui.api_keys.key_store import KeyStore
from cinch_tui.config.tables.tools import WebSettings
from harness.ports.provider import Hosting
from providers.installed import each_preset
from tools.web.options import SEARCH_KEYS, WebOptions

_HOSTING: dict[str, Hosting] = {"auto": "preferred", "native": "only"}


def web_options(settings: WebSettings, keys: KeyStore) -> WebOptions:
    """Return the options; the service of the model searches if the settings allow it, otherwise that with a key."""

    def find_key(service: str, variables: Sequence[str]) -> str:
        secret = keys.find(service, variables)
        return secret.value if secret else ""

    service = _service(settings, keys)
    hosting = _HOSTING.get(settings.search, "")
    return WebOptions(
        settings.allow_private, settings.robots, service, "only" if hosting and not service else hosting, find_key
    )


def _service(settings: WebSettings, keys: KeyStore) -> str:
    if settings.search == "auto":
        return next((name for name, variables in SEARCH_KEYS.items() if keys.is_known(name, variables)), "")
    return settings.search if settings.search in SEARCH_KEYS else ""


def secret_variables() -> Iterator[str]:
    """Yield the environment variables that only hold API keys; commands of the model do not receive them."""
    for preset in each_preset():
        yield from preset.own_variables
    for variables in SEARCH_KEYS.values():
        yield from variables
