"""Port: dialects, other names and schemas under which a model is offered the tools, and a choice among them."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from typing import Protocol

from harness.deltas import Delta
from harness.ports.provider import Provider, Request
from harness.ports.tool import Tool


class Dialect(Protocol):
    """Translation between the tools of an agent and those that a model sees.

    History, rules, hooks and events have the agent's own names and arguments; only requests and deltas are translated.
    """

    @property
    def name(self) -> str: ...

    def offered(self, tools: Sequence[Tool]) -> Sequence[Tool]:
        """Return those of the tools that a model is offered, in order; it may call the others nevertheless."""
        ...

    def name_of(self, tool: str) -> str:
        """Return the name in the dialect of a tool, or of the one that replaces it, by the agent's name."""
        ...

    def call_error(self, text: str, tool: str) -> str:
        """Return an error text about a call of a tool with the names of the tool and its arguments in the dialect."""
        ...

    def stream(self, provider: Provider, request: Request) -> AsyncIterator[Delta]:
        """Stream the reply to a request in this dialect, with the calls translated back.

        Raises:
            ProviderError: As `Provider.stream`.
        """
        ...
