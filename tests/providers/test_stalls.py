"""A service that is there and says nothing."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import count

import pytest
from fakes import openai_wire
from fakes.asking import Asker, ModelAt, Serve
from fakes.model_server import Raw, Reply

from harness.errors import NetworkError
from harness.provider import BlockDelta
from providers import stream

WIDTH = 400
A_COMMENT = b": keep-alive".ljust(WIDTH - 2) + b"\n\n"


def in_chunks(*events: bytes) -> Raw:
    """Each event in a chunk of its own."""
    return Raw(b"".join(event[:-2].ljust(WIDTH - 2) + b"\n\n" for event in events), chunk_size=WIDTH)


def spoken() -> Sequence[bytes]:
    return list(openai_wire.events(Reply("one two three"), "m", 1))[:-1]


async def test_a_service_that_only_keeps_the_line_open_is_given_up(
    serve: Serve, model_at: ModelAt, ask: Asker, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stream, "EVENTLESS_SECONDS", 0.0)
    server = serve([in_chunks(*spoken()[:2], *[A_COMMENT] * 50)])

    with pytest.raises(NetworkError, match="signs of life") as caught:
        await ask(model_at(server, "openai-chat"))

    assert caught.value.retryable


async def test_an_event_that_trickles_for_ever_is_given_up(
    serve: Serve, wire: str, model_at: ModelAt, ask: Asker, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stream, "EVENTLESS_SECONDS", 0.0)
    server = serve([Reply("one two three", chunk_size=1)])

    with pytest.raises(NetworkError, match="signs of life"):
        await ask(model_at(server, wire))


async def test_a_slow_service_that_says_something_now_and_then_is_heard_out(
    serve: Serve, model_at: ModelAt, ask: Asker, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = count(step=stream.EVENTLESS_SECONDS / 2)
    monkeypatch.setattr(stream, "monotonic", lambda: float(next(clock)))
    slow = [part for event in spoken() for part in (A_COMMENT, event)]
    server = serve([in_chunks(*slow)])

    deltas = await ask(model_at(server, "openai-chat"))

    assert "".join(delta.text for delta in deltas if isinstance(delta, BlockDelta)) == "one two three"
