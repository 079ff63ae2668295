"""Port: a service that models are asked at over HTTP."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol, TypeAlias

from harness.ports.provider import Provider
from providers.endpoint import Endpoint


class Service(Provider, Protocol):
    """What every provider that is reached over HTTP can do besides streaming."""

    def warm(self) -> None:
        """Prepare for the first request; may be called from any thread, and more than once."""
        ...

    async def models(self) -> list[str]:
        """What the service says it serves.

        Raises:
            ProviderError: it could not be asked.
        """
        ...


Opener: TypeAlias = Callable[[Endpoint], Service]
"""Creates the service at an endpoint; nothing is sent yet."""
