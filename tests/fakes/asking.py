"""Types of the fixtures with which providers are tested over real HTTP."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any, TypeAlias

from fakes.model_server import ModelServer
from fakes.script import Script

from harness.deltas import Delta
from harness.ports.provider import Model

Serve: TypeAlias = Callable[[Script], ModelServer]
"""Start a server that answers from a script."""
ModelAt: TypeAlias = Callable[[ModelServer, str], Model]
"""Return the model of a server, for a wire protocol."""
AnswerRaw: TypeAlias = Callable[[bytes], Awaitable[str]]
"""Start a server that answers everything with these bytes; return its URL."""
Asker: TypeAlias = Callable[..., Awaitable[list[Delta]]]
"""Call a model and collect all deltas; further arguments are messages."""


def said_in(body: dict[str, Any]) -> list[Any]:
    """Return the messages of a request in any wire protocol."""
    return next(body[name] for name in ("messages", "input", "contents") if name in body)
