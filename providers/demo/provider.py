"""Model that plays a script of thinking, text and tool calls, streamed like a real one: for the tour and for tests."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Iterator
from typing import TypeAlias

from msgspec import Struct

from harness.deltas import BlockDelta, BlockEnd, BlockStart, Delta, Done
from harness.errors import ProviderError
from harness.messages import JsonObject, StopReason, Usage
from harness.ports.provider import Provider, Request

CHARS_PER_TOKEN = 4


class Think(Struct, frozen=True):
    text: str
    signature: str = "demo"


class Say(Struct, frozen=True):
    text: str


class Call(Struct, frozen=True):
    """A tool call; `raw` replaces the arguments with text that need not be JSON."""

    name: str
    arguments: JsonObject
    id: str = ""
    raw: str | None = None


class Break(Struct, frozen=True):
    """The request fails here, after the parts before it were streamed."""

    error: ProviderError


class Hang(Struct, frozen=True):
    """The stream stalls forever."""


Part: TypeAlias = Think | Say | Call | Break | Hang


class Reply(Struct, frozen=True):
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
        return waiting.pop(0) if waiting else Reply((Say("The script is over."),))

    return play


class DemoProvider(Provider):
    """Plays `script` in fragments of `chunk` characters, `delay` seconds apart; `requests` holds the received
    requests."""

    name = "demo"

    def __init__(self, script: Script, *, delay: float = 0.0, chunk: int = 12) -> None:
        self._script = script
        self._delay = delay
        self._chunk = chunk
        self._calls = 0
        self.requests: list[Request] = []

    async def stream(self, request: Request) -> AsyncIterator[Delta]:
        self.requests.append(request)
        reply = self._script(request)
        for index, part in enumerate(reply.parts):
            match part:
                case Break(error):
                    raise error
                case Hang():
                    await asyncio.Event().wait()
                case Think() | Say() | Call():
                    for delta in self._play(index, part):
                        await asyncio.sleep(self._delay)
                        yield delta
        has_calls = any(isinstance(part, Call) for part in reply.parts)
        stop = reply.stop_reason or ("tool_use" if has_calls else "stop")
        yield Done(stop, reply.usage or _usage(request, reply), error=reply.error)

    async def close(self) -> None:
        """Do nothing: nothing is open."""

    def _play(self, index: int, part: Think | Say | Call) -> Iterator[Delta]:
        match part:
            case Think(text, signature):
                start, end = BlockStart(index, "thinking"), BlockEnd(index, signature)
            case Say(text):
                start, end = BlockStart(index, "text"), BlockEnd(index)
            case Call(name, arguments, call_id, raw):
                self._calls += 1
                text = json.dumps(arguments) if raw is None else raw
                start, end = BlockStart(index, "tool_call", call_id or f"call_{self._calls}", name), BlockEnd(index)
        yield start
        for at in range(0, len(text), self._chunk):
            yield BlockDelta(index, text[at : at + self._chunk])
        yield end


def _usage(request: Request, reply: Reply) -> Usage:
    written = sum(len(part.text) for part in reply.parts if isinstance(part, Think | Say))
    read = len(request.system) + sum(len(str(message.content)) for message in request.messages)
    return Usage(input=read // CHARS_PER_TOKEN, output=max(1, written // CHARS_PER_TOKEN))
