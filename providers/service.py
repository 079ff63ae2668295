"""Port: a model service reached over HTTP."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol, TypeAlias

from harness.ports.provider import Provider
from providers.endpoint import Endpoint


class Service(Provider, Protocol):
    """A provider with preparation and model listing."""

    def warm(self) -> None:
        """Prepare for the first request; may be called from any thread, and more than once."""
        ...

    async def models(self) -> list[str]:
        """Return the models that the service lists.

        Raises:
            ProviderError: The service could not be queried.
        """
        ...


Opener: TypeAlias = Callable[[Endpoint], Service]
"""Creates the service at an endpoint; nothing is sent yet."""
