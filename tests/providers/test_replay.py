from __future__ import annotations

import json
from collections.abc import AsyncIterator, Sequence
from functools import partial
from pathlib import Path

import httpx
import pytest
from fakes.asking import Asker, Serve
from fakes.model_server import Cut, Failure, Hang, ModelServer, Reply
from fakes.simple_tools import SimpleTool
from fakes.tapes import HEAD, close_all, recording, replaying

from harness.agent.agent import Agent
from harness.agent.options import AgentOptions
from harness.agent.retry import RetryPolicy
from harness.errors import ConfigError, ModelThrottled, NetworkError, ProviderError, RequestRejected
from harness.events import MessageUpdate
from harness.messages import Message, ToolResult, user
from harness.ports.provider import Model
from http_client import pool
from providers import connect
from providers.cassette.file import CassetteFile, read_exchanges
from providers.cassette.provider import ReplayProvider
from providers.cassette.replay_queue import difference
from providers.cassette.transports import RecordingTransport
from providers.endpoint import Endpoint
from providers.preset import presets

THOUGHTFUL = Reply("Let me look.", thinking="Which file? 🌍", calls=[("look", {"path": "ü.py"})])


@pytest.fixture
def tape(tmp_path: Path) -> Path:
    return tmp_path / "run.jsonl"


@pytest.fixture(autouse=True)
async def closed() -> AsyncIterator[None]:
    yield
    await close_all()


def reported_by(model: Model) -> list[str]:
    reported: list[str] = []
    assert isinstance(model.provider, ReplayProvider)
    model.provider.queue.on_mismatch = reported.append
    return reported


async def run(model: Model, prompt: str = "Look") -> tuple[list[Message], list[object]]:
    agent = Agent(model, [SimpleTool("look")], options=AgentOptions(retry=RetryPolicy(max_retries=0)))
    deltas: list[object] = []
    agent.subscribe(lambda event: deltas.append(event.delta) if isinstance(event, MessageUpdate) else None)
    await agent.prompt(prompt)
    return [*agent.history.messages], deltas


def said(messages: Sequence[Message]) -> list[object]:
    return [
        (message.content, message.is_error) if isinstance(message, ToolResult) else getattr(message, "content", None)
        for message in messages
    ]


async def test_a_run_is_played_again_without_its_server(serve: Serve, wire: str, tape: Path) -> None:
    server = serve([THOUGHTFUL, Reply("Done.")])
    then, deltas_then = await run(recording(server, wire, tape))
    server.__exit__()
    model = replaying(tape)
    reported = reported_by(model)

    now, deltas_now = await run(model)

    assert said(now) == said(then)
    assert len(now) == 4
    assert deltas_now == deltas_then
    assert reported == []


async def test_failures_are_played_as_they_were(
    serve: Serve, wire: str, tape: Path, ask: Asker, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pool, "LOCAL_READ_SECONDS", 0.1)
    script = [
        Failure(429, "slow down", {"retry-after": "7"}),
        Cut(Reply("one two three four five"), after_events=2),
        Cut(Reply("one two three four five"), after_events=2, clean=True),
        Hang(Reply("one two"), after_events=2),
        Failure(400, "prompt is too long: 9 tokens > 8 maximum"),
    ]
    then = await _errors(recording(serve(script), wire, tape), ask, len(script))

    now = await _errors(replaying(tape), ask, len(script))

    assert now == then
    assert then[0][0] is ModelThrottled
    assert then[0][2] == 7.0


async def _errors(model: Model, ask: Asker, count: int) -> list[object]:
    errors: list[object] = []
    for _ in range(count):
        with pytest.raises(ProviderError) as caught:
            await ask(model)
        errors.append((type(caught.value), str(caught.value), caught.value.retry_after))
    return errors


async def test_an_unreachable_server_is_unreachable_in_replay(tape: Path, ask: Asker) -> None:
    server = ModelServer().__enter__()
    server.__exit__()
    for connected in (partial(recording, server, "anthropic", tape), partial(replaying, tape)):
        with pytest.raises(NetworkError, match="cannot connect to"):
            await ask(connected())


async def test_a_server_that_never_answered_is_silent_in_replay(tape: Path, ask: Asker) -> None:
    def fall_silent(request: httpx.Request) -> httpx.Response:
        raise httpx.ReadTimeout("nothing", request=request)

    file = CassetteFile(tape)
    file.open()
    endpoint = Endpoint(presets()["anthropic"], "http://127.0.0.1")
    client = httpx.AsyncClient(transport=RecordingTransport(httpx.MockTransport(fall_silent), file, endpoint, "m"))
    with pytest.raises(httpx.ReadTimeout):
        await client.post("http://127.0.0.1/v1/messages", json={})
    await client.aclose()

    with pytest.raises(NetworkError, match="read timed out"):
        await ask(replaying(tape))


async def test_a_used_up_cassette_raises_a_clear_error(serve: Serve, tape: Path, ask: Asker) -> None:
    await ask(recording(serve([Reply("one")]), "anthropic", tape))
    model = replaying(tape)
    await ask(model)

    with pytest.raises(RequestRejected, match=r"no matching exchange left: 1 of 1 were played$") as caught:
        await ask(model)

    assert not caught.value.retryable


async def test_a_request_that_differs_is_reported_once_and_in_the_last_error(
    serve: Serve, wire: str, tape: Path, ask: Asker
) -> None:
    await ask(recording(serve([Reply("one"), Reply("two")]), wire, tape), user("Hello"))
    await ask(recording(serve([Reply("one"), Reply("two")]), wire, tape), user("Hello"))
    model = replaying(tape)
    reported = reported_by(model)

    await ask(model, user("Goodbye"))
    await ask(model, user("Farewell"))
    with pytest.raises(RequestRejected, match=r"requests differed from the recorded ones in (messages|input|contents)"):
        await ask(model, user("Goodbye"))

    assert len(reported) == 1
    assert "differs from the recorded one in " in reported[0]


async def test_each_of_two_requests_gets_its_own_answer(serve: Serve, tape: Path, ask: Asker) -> None:
    model = recording(serve([Reply("one"), Reply("two")]), "anthropic", tape)
    one, two = await ask(model, user("1")), await ask(model, user("2"))
    again = replaying(tape)

    assert await ask(again, user("2")) == two
    assert await ask(again, user("1")) == one


async def test_a_run_of_several_services_is_played_by_all_of_them(serve: Serve, tape: Path, ask: Asker) -> None:
    wires = ("anthropic", "openai", "ollama")
    then = [await ask(recording(serve([Reply(wire)]), wire, tape)) for wire in wires]
    model = replaying(tape)

    assert [await ask(model) for _ in wires] == then


async def test_a_recorded_thought_goes_back_as_the_models_own(serve: Serve, tape: Path) -> None:
    server = serve([THOUGHTFUL, Reply("Done.")])
    await run(recording(server, "anthropic", tape))
    model = replaying(tape)
    reported = reported_by(model)

    await run(model)

    second = read_exchanges(tape)[1].body
    assert '"signature"' in json.dumps(second)
    assert reported == []


@pytest.mark.parametrize(
    ("content", "reported"),
    [
        (None, "cannot read the cassette"),
        (b"", "is not a cassette"),
        (b"# Notes\n", "is not a cassette"),
        (b'{"type":"session"}\n', "is not a cassette"),
        (b'{"type":"cassette","version":2}\n', "recorded by a later cinch"),
        (HEAD, "is empty: no request was recorded"),
        (HEAD + b'{"type":"request","id":"1","preset":"gone","model":"m","base_url":"http://h"}\n', "unknown provider"),
    ],
)
def test_an_invalid_cassette_is_not_replayed(tape: Path, content: bytes | None, reported: str) -> None:
    if content is not None:
        tape.write_bytes(content)

    with pytest.raises(ConfigError, match=reported):
        replaying(tape)


def test_the_cassette_is_required() -> None:
    with pytest.raises(ConfigError, match="name a cassette, as in replay/PATH"):
        connect("replay")


async def test_a_recording_that_was_cut_short_is_played_as_a_cut_stream(serve: Serve, tape: Path, ask: Asker) -> None:
    await ask(recording(serve([Reply("one two three")]), "anthropic", tape))
    lines = tape.read_bytes().splitlines(keepends=True)
    first = next(number for number, line in enumerate(lines) if b'"response"' in line)
    tape.write_bytes(b"".join(lines[: first + 1]))

    with pytest.raises(NetworkError, match="closed early"):
        await ask(replaying(tape))


async def test_replayed_replies_cost_nothing(serve: Serve, tape: Path, ask: Asker) -> None:
    await ask(recording(serve([Reply("one")]), "openai-chat", tape))

    facts = await replaying(tape).info.load()

    assert facts.price is not None
    assert (facts.price.input, facts.price.output) == (0.0, 0.0)


@pytest.mark.parametrize(
    ("recorded", "asked", "place"),
    [
        ({"a": [1, {"b": 2}]}, {"a": [1, {"b": 3}]}, "a[1].b"),
        ({"a": [1]}, {"a": [1, 2]}, "a[1]"),
        ({"a": 1}, {}, "a"),
        ("x", "y", "the body"),
        ({"a": "Bearer [removed]"}, {"a": "Bearer k"}, None),
        ({"metadata": {"user_id": "1"}, "b": 1}, {"prompt_cache_key": "2", "b": 1}, None),
    ],
)
def test_the_first_difference_has_a_place(recorded: object, asked: object, place: str | None) -> None:
    assert difference(recorded, asked) == place  # pyright: ignore[reportArgumentType] - JSON, as the table shows
