"""A service that is there and says nothing."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from itertools import count

import pytest
from fakes import openai_wire
from fakes.asking import Asker, ModelAt, Serve
from fakes.model_server import Raw, Reply

from harness.deltas import BlockDelta
from harness.errors import ModelOverloaded, NetworkError, StreamError
from providers import connect, list_models
from providers.endpoint import Endpoint
from providers.net import stream, transport
from providers.preset import presets

WIDTH = 400
A_COMMENT = b": keep-alive".ljust(WIDTH - 2) + b"\n\n"


def in_chunks(*events: bytes) -> Raw:
    """Each event in a chunk of its own."""
    return Raw(b"".join(event[:-2].ljust(WIDTH - 2) + b"\n\n" for event in events), chunk_size=WIDTH)


def spoken() -> Sequence[bytes]:
    return list(openai_wire.events(Reply("one two three"), "m", 1))[:-1]


@asynccontextmanager
async def trickling(head: bytes, piece: bytes) -> AsyncGenerator[str]:
    """The address of a server whose answer is `head`, and then pieces for as long as somebody listens."""

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        try:
            writer.write(head)
            while not gone.is_set():
                writer.write(piece)
                await writer.drain()
                await asyncio.sleep(0.01)
        except ConnectionError:
            return
        finally:
            writer.close()
            gone.set()

    gone = asyncio.Event()
    server = await asyncio.start_server(answer, "127.0.0.1", 0)
    try:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    finally:
        server.close()
        await gone.wait()


async def test_a_service_that_only_keeps_the_line_open_is_given_up(
    serve: Serve, model_at: ModelAt, ask: Asker, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stream, "EVENTLESS_SECONDS", 0.0)
    server = serve([in_chunks(*spoken()[:2], *[A_COMMENT] * 50)])

    with pytest.raises(NetworkError, match="keep-alive") as caught:
        await ask(model_at(server, "openai-chat"))

    assert caught.value.retryable


async def test_an_endless_slow_event_is_given_up(
    serve: Serve, wire: str, model_at: ModelAt, ask: Asker, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stream, "EVENTLESS_SECONDS", 0.0)
    server = serve([Reply("one two three", chunk_size=1)])

    with pytest.raises(NetworkError, match="keep-alive"):
        await ask(model_at(server, wire))


async def test_a_slow_service_with_occasional_events_is_awaited(
    serve: Serve, model_at: ModelAt, ask: Asker, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = count(step=stream.EVENTLESS_SECONDS / 2)
    monkeypatch.setattr(stream, "monotonic", lambda: float(next(clock)))
    slow = [part for event in spoken() for part in (A_COMMENT, event)]
    server = serve([in_chunks(*slow)])

    deltas = await ask(model_at(server, "openai-chat"))

    assert "".join(delta.text for delta in deltas if isinstance(delta, BlockDelta)) == "one two three"


async def test_an_endless_slow_rejection_is_reported_as_far_as_it_was_read(
    monkeypatch: pytest.MonkeyPatch, ask: Asker
) -> None:
    monkeypatch.setattr(transport, "ERROR_SECONDS", 0.1)

    async with trickling(b"HTTP/1.1 529 X\r\n\r\n", b"busy ") as url:
        with pytest.raises(ModelOverloaded, match="busy busy"):
            await ask(connect("anthropic/m", base_url=url))


async def test_an_endless_slow_document_is_given_up() -> None:
    async with trickling(b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n\r\n", b" ") as url:
        asked = transport.Transport(Endpoint(presets()["llamacpp"], url), {})
        with pytest.raises(NetworkError, match="did not finish its response in time"):
            await asked.get("/models", seconds=0.5)
        await asked.close()


async def test_an_endless_document_is_not_read_forever(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(transport, "LARGEST_DOCUMENT", 100_000)

    async with trickling(b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n\r\n[", b'"x",' * 20_000) as url:
        with pytest.raises(StreamError, match="not JSON"):
            await list_models("llamacpp", base_url=url)
