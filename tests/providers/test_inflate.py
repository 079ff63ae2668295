"""Compressed answers: decompressed within bounds of memory and time, wherever they come."""

from __future__ import annotations

import asyncio
import gzip
import random
import tracemalloc
import zlib
from functools import cache

import pytest
from fakes import openai_wire
from fakes.asking import AnswerRaw, Asker
from fakes.model_server import Reply

from harness.deltas import BlockDelta
from harness.errors import ModelOverloaded, ProviderError, StreamError
from http_client.inflate import LARGEST_INFLATED, PIECE_BYTES, InflateError, Inflater
from providers import connect, list_models
from providers.gguf.hub import Hub, HubFile

MIB = 1024 * 1024


@cache
def bomb() -> bytes:
    return gzip.compress(b"data: " + bytes(128 * MIB), compresslevel=1, mtime=0)


def answer(body: bytes, encoding: str, *, status: str = "200 OK", kind: str = "text/event-stream") -> bytes:
    head = f"HTTP/1.1 {status}\r\ncontent-type: {kind}\r\ncontent-encoding: {encoding}\r\ncontent-length: {len(body)}"
    return f"{head}\r\n\r\n".encode() + body


def deflated(body: bytes) -> bytes:
    compressor = zlib.compressobj(wbits=-zlib.MAX_WBITS)
    return compressor.compress(body) + compressor.flush()


@pytest.mark.parametrize(
    ("encoding", "compress"), [("gzip", gzip.compress), ("deflate", zlib.compress), ("deflate", deflated)]
)
async def test_a_compressed_reply_is_read(answer_raw: AnswerRaw, ask: Asker, encoding: str, compress) -> None:
    body = b"".join(openai_wire.events(Reply("Hello there"), "m", 1))
    model = connect("openai-chat/m", base_url=await answer_raw(answer(compress(body), encoding)))

    deltas = await ask(model)
    await model.provider.close()

    assert "".join(each.text for each in deltas if isinstance(each, BlockDelta)) == "Hello there"


@pytest.mark.parametrize(
    ("status", "kind", "error"),
    [
        ("200 OK", "text/event-stream", StreamError),
        ("200 OK", "application/json", ProviderError),
        ("503 Busy", "application/json", ModelOverloaded),
    ],
)
async def test_a_reply_that_inflates_without_end_is_given_up(
    answer_raw: AnswerRaw, ask: Asker, status: str, kind: str, error: type[ProviderError]
) -> None:
    model = connect("openai-chat/m", base_url=await answer_raw(answer(bomb(), "gzip", status=status, kind=kind)))
    # What the client itself takes is loaded before the measurement.
    await asyncio.to_thread(model.provider.warm)  # pyright: ignore[reportAttributeAccessIssue]

    tracemalloc.start()
    try:
        with pytest.raises(error) as caught:
            await ask(model)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
        await model.provider.close()

    assert peak < 16 * MIB
    assert error is not StreamError or "the decompressed response is too large" in str(caught.value)


async def test_a_model_list_that_inflates_without_end_is_given_up(answer_raw: AnswerRaw) -> None:
    url = await answer_raw(answer(bomb(), "gzip", kind="application/json"))

    with pytest.raises(StreamError):
        await list_models("openai-chat", base_url=url)


def test_pieces_are_small_and_together_the_whole() -> None:
    body = b"".join(bytes([number % 251]) * 5000 for number in range(200))
    compressed = gzip.compress(body)
    for step in (1, 7, 1000, len(compressed)):
        decoder = Inflater("gzip")
        pieces = [
            piece
            for start in range(0, len(compressed), step)
            for piece in decoder.feed(compressed[start : start + step])
        ]
        assert b"".join(pieces) == body
        assert max(map(len, pieces)) <= PIECE_BYTES


def test_a_body_with_little_repetition_is_limited_in_size() -> None:
    noise, decoder = random.Random(1), Inflater("gzip")
    compressor = zlib.compressobj(level=1, wbits=zlib.MAX_WBITS | 16)
    count = 0

    def feed_on() -> None:
        nonlocal count
        while count <= LARGEST_INFLATED:
            block = b"".join(noise.randbytes(500) + bytes(20_000) for _ in range(100))
            data = compressor.compress(block) + compressor.flush(zlib.Z_SYNC_FLUSH)
            for piece in decoder.feed(data):
                count += len(piece)

    with pytest.raises(InflateError, match="too large"):
        feed_on()
    assert LARGEST_INFLATED - PIECE_BYTES <= count <= LARGEST_INFLATED


@pytest.mark.parametrize(
    "body",
    [b"\x1f\x8b\x08 damaged", gzip.compress(b"whole " * 1000, mtime=0)[:20] + b"\xff" * 50],
    ids=["its head", "its body"],
)
def test_damaged_compression_is_an_error(body: bytes) -> None:
    with pytest.raises(InflateError, match="damaged"):
        list(Inflater("gzip").feed(body))


def test_a_body_compressed_twice_is_refused() -> None:
    with pytest.raises(InflateError, match=r"more than once \(gzip, gzip\)"):
        Inflater("gzip, gzip")


@pytest.mark.parametrize("encoding", ["", "identity", "br"])
def test_other_bodies_pass_as_they_are(encoding: str) -> None:
    assert list(Inflater(encoding).feed(b"as it is")) == [b"as it is"]


async def test_a_list_of_files_that_inflates_without_end_is_given_up(
    answer_raw: AnswerRaw, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HF_ENDPOINT", await answer_raw(answer(bomb(), "gzip", kind="application/json")))

    def files() -> list[HubFile]:
        with Hub() as hub:
            return hub.files("some/model")

    with pytest.raises(StreamError, match=r"too large|more than"):
        await asyncio.to_thread(files)
