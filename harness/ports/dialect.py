"""Port: dialects, other names and schemas under which a model is offered the tools."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Protocol

from harness.deltas import Delta
from harness.ports.provider import Provider, Request


class Dialect(Protocol):
    """Translation between the tools of an agent and those that a model sees.

    History, rules, hooks and events have the agent's own names and arguments; only requests and deltas are translated.
    """

    @property
    def name(self) -> str: ...

    def stream(self, provider: Provider, request: Request) -> AsyncIterator[Delta]:
        """Stream the reply to a request in this dialect, with the calls translated back.

        Raises:
            ProviderError: As `Provider.stream`.
        """
        ...
