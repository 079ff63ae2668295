"""Model that plays a script, however invalid."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import pairwise
from typing import TYPE_CHECKING, TypeAlias

from harness.deltas import BlockDelta, BlockEnd, BlockStart, Delta, Done
from harness.messages import ModelSpec, StopReason, Usage
from harness.ports.provider import Model, ModelInfo, Price, Provider, Request, StaticModelInfo
from providers.demo import Call, Hang, Say, Think

CUT = 7
"""Number of characters of a call's arguments in the first of two pieces."""


@dataclass(frozen=True, slots=True)
class Pause:
    seconds: float = 0.0


@dataclass(frozen=True, slots=True)
class Fail:
    """Error raised by the stream: one of ours, or any exception of third-party code."""

    error: BaseException


@dataclass(frozen=True, slots=True)
class Stray:
    """Delta that may be out of order."""

    delta: Delta


@dataclass(frozen=True, slots=True)
class Deaf:
    """Stream that waits until it is cancelled, and then continues as if nothing had happened."""


Part: TypeAlias = Say | Think | Call | Pause | Fail | Stray | Hang | Deaf


@dataclass(frozen=True, slots=True)
class Spoken:
    """One reply; `end` None: the stream ends without its last event."""

    parts: tuple[Part, ...]
    end: StopReason | None = "stop"
    usage: Usage = Usage(input=10, output=5)


@dataclass(eq=False, slots=True)
class Wire:
    """State shared by the models of one stage: remaining replies, requests, open streams."""

    replies: list[Spoken] = field(default_factory=list)
    requests: list[Request] = field(default_factory=list)
    open: int = 0


class WhimModel:
    """Provider that plays the remaining replies, then a final one."""

    name = "whim"

    def __init__(self, wire: Wire) -> None:
        self._wire = wire

    async def stream(self, request: Request) -> AsyncIterator[Delta]:
        wire = self._wire
        wire.requests.append(request)
        spoken = wire.replies.pop(0) if wire.replies else Spoken((Say("The script is over."),))
        wire.open += 1
        try:
            for index, part in enumerate(_endable(spoken.parts)):
                async for delta in _played(index, part):
                    yield delta
            if spoken.end is not None:
                yield Done(spoken.end, spoken.usage, error="refused" if spoken.end == "error" else None)
        finally:
            wire.open -= 1

    async def close(self) -> None:
        """Do nothing: there is nothing to close."""


def _endable(parts: Sequence[Part]) -> Sequence[Part]:
    """Return the parts up to one that no single cancellation ends: the agent abandons such a stream."""
    for place, (part, following) in enumerate(pairwise(parts), 1):
        if isinstance(part, Deaf) and isinstance(following, Hang | Deaf):
            return parts[:place]
    return parts


async def _played(index: int, part: Part) -> AsyncIterator[Delta]:
    match part:
        case Pause(seconds):
            await asyncio.sleep(seconds)
        case Fail(error):
            raise error.with_traceback(None)
        case Hang():
            await asyncio.Event().wait()
        case Deaf():
            await ignored()
        case Stray(delta):
            yield delta
        case Say() | Think() | Call():
            for delta in _block(index, part):
                yield delta


def _block(index: int, part: Say | Think | Call) -> Sequence[Delta]:
    match part:
        case Say(text):
            return BlockStart(index, "text"), BlockDelta(index, text), BlockEnd(index)
        case Think(text, signature):
            return BlockStart(index, "thinking"), BlockDelta(index, text), BlockEnd(index, signature)
        case Call(name, arguments, call_id, raw):
            written = json.dumps(arguments) if raw is None else raw
            pieces = BlockDelta(index, written[:CUT]), BlockDelta(index, written[CUT:])
            return BlockStart(index, "tool_call", call_id, name), *pieces, BlockEnd(index)


async def ignored() -> None:
    with suppress(asyncio.CancelledError):
        await asyncio.Event().wait()


def model_of(wire: Wire, name: str = "whim") -> Model:
    facts = StaticModelInfo(ModelInfo(context_window=1_000, price=Price(1.0, 1.0)))
    return Model(WhimModel(wire), ModelSpec("whim", name), facts)


if TYPE_CHECKING:
    _: type[Provider] = WhimModel
