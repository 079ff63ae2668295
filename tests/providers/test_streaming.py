from __future__ import annotations

import asyncio
from itertools import pairwise

import pytest
from fakes import anthropic_wire, bedrock_wire, gemini_wire, ollama_wire, openai_wire, proxy_wire, responses_wire
from fakes.asking import Asker, ModelAt, Serve
from fakes.model_server import Cut, Failure, Hang, ModelServer, Raw, Reply
from hypothesis import given
from hypothesis import strategies as st

from harness.agent.reply import ReplyBuilder
from harness.deltas import BlockDelta, BlockEnd, BlockStart, Delta, Done, UsageReport
from harness.errors import NetworkError, ProviderError, StreamError
from harness.messages import ModelSpec, Usage, user
from harness.ports.provider import Request
from http_client import pool
from providers import connect
from providers.anthropic.decode import MessageDecoder
from providers.bedrock.decode import ConverseDecoder
from providers.bedrock.frames import FrameDecoder
from providers.endpoint import Endpoint
from providers.gemini.decode import ContentDecoder
from providers.net.framing import EventDecoder, Framing, LineDecoder
from providers.net.stream import ReplyDecoder, decoded
from providers.ollama.decode import LineReplyDecoder
from providers.openai_chat.decode import ChatDecoder
from providers.openai_responses.decode import ResponseDecoder
from providers.preset import presets
from providers.proxy.decode import ProxyDecoder

WIRES = {
    "anthropic": (anthropic_wire, MessageDecoder),
    "openai-chat": (openai_wire, ChatDecoder),
    "openai": (responses_wire, ResponseDecoder),
    "gemini": (gemini_wire, ContentDecoder),
    "ollama": (ollama_wire, LineReplyDecoder),
    "proxy": (proxy_wire, ProxyDecoder),
    "bedrock": (bedrock_wire, ConverseDecoder),
}
FRAMINGS: dict[str, type[Framing]] = {"ollama": LineDecoder, "bedrock": FrameDecoder}
"""How a wire is cut into events, where they are not server-sent ones."""
TWO_WORDS = {"anthropic": 5, "openai-chat": 3, "openai": 6, "gemini": 2, "ollama": 2, "proxy": 4, "bedrock": 3}
"""Events until the second word of a text has come."""

RICH = Reply(
    "Schöne Grüße 🌍👩‍👩‍👧 line\u2028separator.\r\nDone",
    thinking="Let me see … 思考",
    calls=[("read_file", {"path": "tests/ü.py"}), ("bash", {"command": "echo '\u2028'"}), ("todo", {})],
    usage=Usage(input=900, output=40, cache_read=100),
)
UNCACHED = Usage(input=1000, output=40)
"""The same from a server that does not tell what it had read before."""


def spoken(deltas: list[Delta], kind: str) -> list[str]:
    started = [delta.index for delta in deltas if isinstance(delta, BlockStart) and delta.kind == kind]
    return [
        "".join(delta.text for delta in deltas if isinstance(delta, BlockDelta) and delta.index == index)
        for index in started
    ]


async def test_a_rich_reply_comes_through_whole(serve: Serve, wire: str, model_at: ModelAt, ask: Asker) -> None:
    server = serve([RICH])

    deltas = await ask(model_at(server, wire))

    builder = ReplyBuilder(ModelSpec("p", "m"))
    for delta in deltas:
        builder.take(delta)
    reply = builder.finish()
    assert reply.text == RICH.text
    assert spoken(deltas, "thinking") == [RICH.thinking]
    assert [(call.name, call.arguments) for call in reply.tool_calls] == list(RICH.calls)
    assert len({call.id for call in reply.tool_calls}) == 3
    reported = UNCACHED if wire == "ollama" else RICH.usage
    assert (reply.stop_reason, reply.usage) == ("tool_use", reported)


@pytest.mark.parametrize("chunk_size", [1, 2, 3, 7, 50, 1000])
async def test_any_split_of_the_bytes_gives_the_same_result(
    serve: Serve, wire: str, model_at: ModelAt, ask: Asker, chunk_size: int
) -> None:
    cut = Reply(RICH.text, RICH.thinking, calls=RICH.calls, chunk_size=chunk_size)
    whole = Reply(RICH.text, RICH.thinking, calls=RICH.calls)
    cut_server, whole_server = serve([cut]), serve([whole])

    assert await ask(model_at(cut_server, wire)) == await ask(model_at(whole_server, wire))


@given(st.sampled_from([*WIRES]), st.lists(st.integers(min_value=0), max_size=10))
def test_a_recorded_stream_may_be_cut_at_any_byte(wire: str, cuts: list[int]) -> None:
    encoder, decoder = WIRES[wire]
    endpoint = Endpoint(presets()[wire], "http://127.0.0.1")
    body = b"".join(encoder.events(RICH, "m", 1))

    framing = FRAMINGS.get(wire, EventDecoder)
    assert read(decoder(endpoint), body, cuts, framing()) == read(decoder(endpoint), body, [], framing())


def read(decoder: ReplyDecoder, body: bytes, cuts: list[int], events: Framing) -> list[Delta]:
    edges = [0, *sorted(cut % (len(body) + 1) for cut in cuts), len(body)]
    deltas = [delta for start, end in pairwise(edges) for delta in decoded(decoder, events.feed(body[start:end]))]
    return [*deltas, *decoder.finish()]


async def test_a_delta_is_handed_on_before_the_next_is_sent(serve: Serve, wire: str, model_at: ModelAt) -> None:
    server = serve([Hang(Reply("one two three"), after_events=TWO_WORDS[wire])])
    model = model_at(server, wire)
    deltas = model.provider.stream(Request(model.spec, "", (user("Hi"),)))
    stream = (delta async for delta in deltas if not isinstance(delta, UsageReport))

    async with asyncio.timeout(5):
        first = [await anext(stream), await anext(stream), await anext(stream)]

    assert first == [BlockStart(0, "text"), BlockDelta(0, "one"), BlockDelta(0, " two")]
    waiting = asyncio.ensure_future(anext(stream))
    await asyncio.sleep(0)
    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting


@pytest.mark.parametrize("clean", [True, False])
async def test_a_cut_stream_is_never_a_finished_reply(
    serve: Serve, wire: str, model_at: ModelAt, ask: Asker, clean: bool
) -> None:
    reply = Reply("one two three four five six")
    server = serve([Cut(reply, after_bytes=count, clean=clean) for count in (0, 1, 400, 700, 1000)])
    model = model_at(server, wire)

    for _ in range(5):
        with pytest.raises(NetworkError, match="closed early") as caught:
            await ask(model)
        assert caught.value.retryable


async def test_deltas_before_a_cut_stream_are_delivered(serve: Serve, wire: str, model_at: ModelAt) -> None:
    server = serve([Cut(Reply("one two three"), after_events=TWO_WORDS[wire])])
    model = model_at(server, wire)
    seen: list[Delta] = []

    async def read() -> None:
        async for delta in model.provider.stream(Request(model.spec, "", (user("Hi"),))):
            seen.append(delta)

    with pytest.raises(NetworkError):
        await read()

    assert spoken(seen, "text") == ["one two"]


async def test_a_missing_done_mark_is_forgiven_after_a_finish_reason(
    serve: Serve, model_at: ModelAt, ask: Asker
) -> None:
    server = serve([Cut(Reply("one"), after_events=3)])

    deltas = await ask(model_at(server, "openai-chat"))

    assert deltas[-1] == Done("stop", Usage(), "chatcmpl-fake-0001")


async def test_usage_after_the_finish_reason_is_counted(serve: Serve, model_at: ModelAt, ask: Asker) -> None:
    server = serve([Reply("one", usage=Usage(input=7, output=3, cache_read=2))])

    deltas = await ask(model_at(server, "openai-chat"))

    assert deltas[-1] == Done("stop", Usage(input=7, output=3, cache_read=2), "chatcmpl-fake-0001")


async def test_the_connection_is_used_again(serve: Serve, wire: str, model_at: ModelAt, ask: Asker) -> None:
    server = serve([Reply("one"), Reply("two"), Failure(500), Reply("three")])
    model = model_at(server, wire)

    await ask(model)
    opened = server.connections_opened
    await ask(model)
    with pytest.raises(ProviderError):
        await ask(model)
    await ask(model)

    assert server.connections_opened == opened


async def test_no_server_is_reported_plainly(wire: str, serve: Serve, model_at: ModelAt, ask: Asker) -> None:
    server = ModelServer().__enter__()
    server.__exit__()

    with pytest.raises(NetworkError, match=rf"cannot connect to {server.url}.*is the server running\?"):
        await ask(model_at(server, wire))


@pytest.mark.parametrize(
    "body",
    [
        b"data: {not json}\n\n",
        b"data: [1]\n\n",
        b'data: {"type": "response.output_text.delta", "choices": 5}\n\ndata: {"type": "content_block_delta"}\n\n',
        b"data: 7\n\n",
    ],
)
async def test_events_that_are_none_break_the_stream(
    serve: Serve, wire: str, model_at: ModelAt, ask: Asker, body: bytes
) -> None:
    server = serve([Raw(body)])

    with pytest.raises(StreamError, match="invalid"):
        await ask(model_at(server, wire))


async def test_a_web_page_is_no_reply(serve: Serve, wire: str, model_at: ModelAt, ask: Asker) -> None:
    page = b"<html><title>Log in to the airport\x1b[31m</title></html>"
    server = serve([Raw(page, content_type="text/html")])

    with pytest.raises(StreamError) as caught:
        await ask(model_at(server, wire))

    assert "Log in to the airport" in str(caught.value)
    assert "\x1b" not in str(caught.value)


async def test_warming_builds_the_client_once_from_any_thread(
    serve: Serve, wire: str, model_at: ModelAt, ask: Asker
) -> None:
    server = serve([Reply("one")])
    model = model_at(server, wire)

    async with asyncio.TaskGroup() as group:
        for _ in range(4):
            group.create_task(asyncio.to_thread(model.provider.warm))
    deltas = await ask(model)

    assert spoken(deltas, "text") == ["one"]


def test_a_provider_serves_one_event_loop_after_another(serve: Serve, wire: str) -> None:
    server = serve([Reply("one"), Reply("two")])
    model = connect(f"{wire}/m", base_url=server.url if wire == "anthropic" else server.openai_url)

    async def once() -> list[Delta]:
        try:
            return [delta async for delta in model.provider.stream(Request(model.spec, "", (user("Hi"),)))]
        finally:
            await model.provider.close()

    assert spoken(asyncio.run(once()), "text") == ["one"]
    assert spoken(asyncio.run(once()), "text") == ["two"]


async def test_every_started_block_ends(serve: Serve, wire: str, model_at: ModelAt, ask: Asker) -> None:
    server = serve([RICH])

    deltas = await ask(model_at(server, wire))

    begun = [delta.index for delta in deltas if isinstance(delta, BlockStart)]
    assert begun == sorted(begun)
    assert sorted(delta.index for delta in deltas if isinstance(delta, BlockEnd)) == begun
    assert [delta for delta in deltas if isinstance(delta, Done)] == deltas[-1:]


async def test_a_server_that_holds_the_line_after_the_end_does_not_hold_the_reply(
    serve: Serve, wire: str, model_at: ModelAt, ask: Asker
) -> None:
    server = serve([Hang(Reply("one"), after_events=99)])

    async with asyncio.timeout(5):
        deltas = await ask(model_at(server, wire))

    assert isinstance(deltas[-1], Done)


async def test_a_server_that_falls_silent_is_given_up(
    serve: Serve, wire: str, model_at: ModelAt, ask: Asker, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pool, "LOCAL_READ_SECONDS", 0.1)
    server = serve([Hang(Reply("one two"), after_events=2)])

    with pytest.raises(NetworkError, match="read timed out"):
        await ask(model_at(server, wire))
