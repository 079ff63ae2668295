"""Key of a search service: checked with one search, and stored like an API key."""

from __future__ import annotations

import asyncio

from msgspec import Struct

from cinch_tui.api_keys.key_store import KeyStore
from cinch_tui.api_keys.provider_key import KeyAccepted, KeyCheck, KeyRefused, KeyUnchecked
from harness.errors import ProviderError
from providers.preset import EnvironmentCredentials
from tools.web.options import SEARCH_KEYS

REJECTED = (401, 403, 422)
"""HTTP statuses of services for a key that is not valid."""


class SearchKey(Struct, frozen=True):
    """The key of a search service, or the URL of a SearXNG server."""

    keys: KeyStore
    name: str

    @property
    def label(self) -> str:
        from tools.web.search_services import SERVICES

        return SERVICES[self.name].label

    @property
    def note(self) -> str:
        """Warning about an environment variable that takes precedence; may be empty."""
        found = EnvironmentCredentials(self.keys.environ).find(self.name, SEARCH_KEYS[self.name])
        return f"{found.variable} is set in the environment and wins over a stored key." if found else ""

    async def check(self, secret: str) -> KeyCheck:
        """Check the key with one search."""
        from tools.web.download import FetchError
        from tools.web.search import SearchRejected, search
        from tools.web.search_services import SERVICES, Query

        try:
            await search(SERVICES[self.name], Query("cinch", 1), secret)
        except SearchRejected as error:
            return KeyRefused(str(error)) if error.status in REJECTED else KeyUnchecked(str(error))
        except (FetchError, ProviderError) as error:
            return KeyUnchecked(str(error))
        return KeyAccepted()

    async def store(self, secret: str, verdict: KeyCheck) -> str:
        """Store the key and return a report for the user.

        Raises:
            ConfigError: the key could not be stored.
        """
        place = await asyncio.to_thread(self.keys.store, self.name, secret)
        checked = "accepted the key" if isinstance(verdict, KeyAccepted) else "did not check the key"
        return f"{self.label} {checked}. It is stored in {place}. web_search uses it from the next start on."
