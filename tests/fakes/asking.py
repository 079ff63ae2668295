"""The shapes of the fixtures with which providers are tested over real HTTP."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any, TypeAlias

from fakes.model_server import ModelServer
from fakes.script import Script

from harness.ports.provider import Delta, Model

Serve: TypeAlias = Callable[[Script], ModelServer]
"""Starts a server that answers from a script."""
ModelAt: TypeAlias = Callable[[ModelServer, str], Model]
"""The model of a server, spoken to on a wire."""
AnswerRaw: TypeAlias = Callable[[bytes], Awaitable[str]]
"""Starts a server that answers everything with these bytes; its address."""
Asker: TypeAlias = Callable[..., Awaitable[list[Delta]]]
"""Asks a model and waits for all deltas; further arguments are messages."""


def said_in(body: dict[str, Any]) -> list[Any]:
    """The messages of a request, whatever its wire calls them."""
    return next(body[name] for name in ("messages", "input", "contents") if name in body)
