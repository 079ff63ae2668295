"""Script of the demo model: replies that consist of thinking, text and tool calls."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from harness.errors import ProviderError
from harness.lazy_dataclass import dataclass
from harness.messages import JsonObject, StopReason, Usage
from harness.ports.provider import Request


@dataclass(frozen=True, slots=True)
class Think:
    text: str
    signature: str = "demo"


@dataclass(frozen=True, slots=True)
class Say:
    text: str


@dataclass(frozen=True, slots=True)
class Call:
    """A tool call; `raw` replaces the arguments with text that need not be JSON."""

    name: str
    arguments: JsonObject
    id: str = ""
    raw: str | None = None


@dataclass(frozen=True, slots=True)
class Break:
    """The request fails here, after the parts before it were streamed."""

    error: ProviderError


@dataclass(frozen=True, slots=True)
class Hang:
    """The stream stalls forever."""


Part: TypeAlias = Think | Say | Call | Break | Hang


@dataclass(frozen=True, slots=True)
class Reply:
    """One reply. Missing stop reason and usage are derived from the parts, at four characters per token."""

    parts: tuple[Part, ...]
    stop_reason: StopReason | None = None
    usage: Usage | None = None
    error: str | None = None


Script: TypeAlias = Callable[[Request], Reply]


def replies(*sequence: Reply | str) -> Script:
    """Return a script that plays these in order and then says that it is over."""
    waiting = [reply if isinstance(reply, Reply) else Reply((Say(reply),)) for reply in sequence]

    def play(request: Request) -> Reply:
        del request
        return waiting.pop(0) if waiting else Reply((Say("The script is over."),))

    return play
