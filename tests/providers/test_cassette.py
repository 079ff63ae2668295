from __future__ import annotations

import gzip
import json
import subprocess
import sys
from collections.abc import AsyncIterator, Sequence
from contextlib import suppress
from functools import partial
from itertools import pairwise
from pathlib import Path

import httpx
import pytest
from fakes.asking import Asker, Serve
from fakes.model_server import Cut, Failure, Hang, ModelServer, Raw, Reply
from fakes.simple_tools import SimpleTool
from hypothesis import given
from hypothesis import strategies as st

from harness.agent import Agent
from harness.errors import ConfigError, ModelThrottled, NetworkError, ProviderError, RequestRejected
from harness.events import MessageUpdate
from harness.messages import Message, ToolResult, user
from harness.options import AgentOptions
from harness.provider import Model, Request
from harness.retry import RetryPolicy
from providers import Secret, connect, transport
from providers.cassette.deck import difference
from providers.cassette.listening import listen
from providers.cassette.provider import ReplayProvider
from providers.cassette.recorder import Origin, Recorder
from providers.cassette.secrets import Secrets, SecretStream
from providers.cassette.tape import Tape, read_exchanges

CANARY = "sk-canary-3f9a77c1e5"
OTHER = "sk-other-canary-9120"
TOKEN = "tok-canary-0123456"
THOUGHTFUL = Reply("Let me look.", thinking="Which file? 🌍", calls=[("look", {"path": "ü.py"})])
HEAD = b'{"type":"cassette","version":1}\n'


class Keys:
    def __init__(self, value: str = CANARY) -> None:
        self.value = value

    def find(self, preset_name: str, variables: Sequence[str]) -> Secret:
        return Secret(self.value, "a test")


@pytest.fixture
def tape(tmp_path: Path) -> Path:
    return tmp_path / "run.jsonl"


OPEN: list[Model] = []


@pytest.fixture(autouse=True)
async def closed() -> AsyncIterator[None]:
    yield
    while OPEN:
        await OPEN.pop().provider.close()


def recording(server: ModelServer, wire: str, tape: Path) -> Model:
    url = server.url if wire in ("anthropic", "gemini") else server.openai_url
    return opened(connect(f"{wire}/some-model", base_url=url, credentials=Keys(), record=tape))


def replaying(tape: Path) -> Model:
    return opened(connect(f"replay/{tape}"))


def opened(model: Model) -> Model:
    OPEN.append(model)
    return model


def told_by(model: Model) -> list[str]:
    told: list[str] = []
    assert isinstance(model.provider, ReplayProvider)
    model.provider.deck.tell = told.append
    return told


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
    told = told_by(model)

    now, deltas_now = await run(model)

    assert said(now) == said(then)
    assert len(now) == 4
    assert deltas_now == deltas_then
    assert told == []


@pytest.mark.parametrize("chunk_size", [1, 3, 1000])
async def test_a_key_never_stands_in_a_cassette(
    serve: Serve, wire: str, tape: Path, chunk_size: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SOMEBODYS_TOKEN", TOKEN)
    echo = f"you said {CANARY}, {OTHER} and {TOKEN}!"
    server = serve([Reply(echo), Raw(echo.encode(), chunk_size), Failure(401, echo)])
    model = recording(server, wire, tape)

    for _ in range(3):
        request = Request(model.spec, "", (user(f"{CANARY} and {TOKEN}"),), api_key=OTHER)
        with suppress(ProviderError):
            _ = [delta async for delta in model.provider.stream(request)]

    assert len(read_exchanges(tape)) >= 3
    played = b"".join(b"".join(exchange.chunks) for exchange in read_exchanges(tape))
    assert b"you said [removed], [removed] and [removed]!" in played
    assert [key for key in (CANARY, OTHER, TOKEN) if key.encode() in tape.read_bytes() + played] == []


async def test_a_key_in_an_address_or_in_a_packed_answer_is_not_kept(tape: Path) -> None:
    secrets = Secrets()
    recorder = Recorder(_started(tape), Origin("p", "m", "https://me:hunter22@h/v1?key=query-canary"), secrets)
    headers = {"content-encoding": "gzip", "set-cookie": "c-canary"}

    async def packed() -> AsyncIterator[bytes]:
        yield gzip.compress(b'{"said": "query-canary"}')

    answer = httpx.MockTransport(lambda asked: httpx.Response(200, content=packed(), headers=headers))
    client = listen(httpx.AsyncClient(transport=answer), recorder)

    got = await client.get("https://me:hunter22@h/v1/x?key=query-canary&api-version=2", headers={"cookie": "a-canary"})
    await client.aclose()

    assert got.json() == {"said": "query-canary"}
    written = tape.read_text()
    assert "canary" not in written
    assert "hunter22" not in written
    assert read_exchanges(tape)[0].url == "https://h/v1/x?key=[removed]&api-version=2"
    assert b"".join(read_exchanges(tape)[0].chunks) == b'{"said": "[removed]"}'


@given(st.lists(st.integers(min_value=0), max_size=12))
def test_a_secret_is_found_wherever_a_stream_is_cut(cuts: list[int]) -> None:
    body = f"a {CANARY}{CANARY[:7]} b sk-canary {CANARY}".encode()
    edges = [0, *sorted(cut % (len(body) + 1) for cut in cuts), len(body)]
    stream = SecretStream(Secrets([CANARY]))

    parts = [part for start, end in pairwise(edges) for part in stream.feed(0.0, body[start:end])]

    plain = b"".join(chunk for _, chunk in [*parts, *stream.finish()])
    assert plain == b"a [removed]" + CANARY[:7].encode() + b" b sk-canary [removed]"


async def test_a_cassette_is_for_its_owner_only(serve: Serve, tape: Path, ask: Asker) -> None:
    old = tape.with_name("old.jsonl")
    old.write_bytes(HEAD)
    old.chmod(0o644)

    for path in (tape, old):
        await ask(recording(serve([Reply("one")]), "openai-chat", path))

    assert [path.stat().st_mode & 0o777 for path in (tape, old)] == [0o600, 0o600]


async def test_bytes_are_played_cut_as_they_came(serve: Serve, tape: Path, ask: Asker) -> None:
    model = recording(serve([Reply("🌍" * 20, chunk_size=5)]), "openai-chat", tape)
    await ask(model)

    (exchange,) = read_exchanges(tape)

    # The server's chunks may come together, but never apart.
    assert len(exchange.chunks) > 1
    assert any(line["type"] == "chunk" and "base64" in line for line in map(json.loads, tape.read_bytes().splitlines()))
    assert (exchange.status, exchange.ending) == (200, "whole")


async def test_nothing_is_written_when_nobody_asked_for_it(
    serve: Serve, tmp_path: Path, ask: Asker, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)

    await ask(opened(connect("ollama/m", base_url=serve([Reply("one")]).url)))

    assert list(tmp_path.iterdir()) == []


async def test_the_environment_can_ask_for_it(
    serve: Serve, tape: Path, ask: Asker, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CINCH_RECORD", str(tape))

    await ask(opened(connect("openai-chat/m", base_url=serve([Reply("one")]).openai_url)))

    assert [(exchange.preset, exchange.model) for exchange in read_exchanges(tape)] == [("openai-chat", "m")]


def test_neither_recording_nor_replaying_loads_the_http_client_before_it_is_used(tape: Path) -> None:
    code = (
        "import sys; from pathlib import Path; from providers import connect; at = Path(sys.argv[1]);"
        "connect('ollama/x', record=at);"
        'at.open("a").write(\'{"type":"request","id":"1","preset":"ollama","model":"x","base_url":"http://h"}\\n\');'
        "connect(f'replay/{at}'); print('httpx' in sys.modules)"
    )

    done = subprocess.run([sys.executable, "-c", code, str(tape)], capture_output=True, text=True, check=True)

    assert done.stdout.strip() == "False"


async def test_failures_are_played_as_they_were(
    serve: Serve, wire: str, tape: Path, ask: Asker, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(transport, "LOCAL_SILENCE_SECONDS", 0.1)
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


async def test_a_server_that_was_not_there_is_not_there_again(tape: Path, ask: Asker) -> None:
    server = ModelServer().__enter__()
    server.__exit__()
    for connected in (partial(recording, server, "anthropic", tape), partial(replaying, tape)):
        with pytest.raises(NetworkError, match="nothing answers at"):
            await ask(connected())


async def test_a_cassette_that_is_used_up_says_so(serve: Serve, tape: Path, ask: Asker) -> None:
    await ask(recording(serve([Reply("one")]), "anthropic", tape))
    model = replaying(tape)
    await ask(model)

    with pytest.raises(RequestRejected, match=r"no answer left to this: 1 of its 1 exchanges were played$") as caught:
        await ask(model)

    assert not caught.value.retryable


async def test_a_request_that_differs_is_told_once_and_in_the_last_error(
    serve: Serve, wire: str, tape: Path, ask: Asker
) -> None:
    await ask(recording(serve([Reply("one"), Reply("two")]), wire, tape), user("Hello"))
    await ask(recording(serve([Reply("one"), Reply("two")]), wire, tape), user("Hello"))
    model = replaying(tape)
    told = told_by(model)

    await ask(model, user("Goodbye"))
    await ask(model, user("Farewell"))
    with pytest.raises(RequestRejected, match=r"requests differed from the recorded ones in (messages|input|contents)"):
        await ask(model, user("Goodbye"))

    assert len(told) == 1
    assert "is not the recorded one; it differs in " in told[0]


async def test_of_two_requests_each_gets_its_own_answer(serve: Serve, tape: Path, ask: Asker) -> None:
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
    told = told_by(model)

    await run(model)

    second = read_exchanges(tape)[1].body
    assert '"signature"' in json.dumps(second)
    assert told == []


@pytest.mark.parametrize(
    ("content", "told"),
    [
        (None, "cannot read the cassette"),
        (b"", "is no cassette"),
        (b"# Notes\n", "is no cassette"),
        (b'{"type":"session"}\n', "is no cassette"),
        (b'{"type":"cassette","version":2}\n', "recorded by a later cinch"),
        (HEAD, "holds no exchange"),
        (HEAD + b'{"type":"request","id":"1","preset":"gone","model":"m","base_url":"http://h"}\n', "unknown provider"),
    ],
)
def test_what_is_no_cassette_is_not_played(tape: Path, content: bytes | None, told: str) -> None:
    if content is not None:
        tape.write_bytes(content)

    with pytest.raises(ConfigError, match=told):
        replaying(tape)


def test_which_cassette_must_be_said() -> None:
    with pytest.raises(ConfigError, match="say which cassette, as in replay/PATH"):
        connect("replay")


def test_a_file_of_something_else_is_not_written_to(tape: Path) -> None:
    tape.write_text("# Notes\n")

    with pytest.raises(ConfigError, match="is no cassette"):
        connect("ollama/m", record=tape)

    assert tape.read_text() == "# Notes\n"


def test_a_folder_that_is_not_there_is_told(tape: Path) -> None:
    with pytest.raises(ConfigError, match=r"cannot record to .*No such file"):
        connect("ollama/m", record=tape / "x.jsonl")


async def test_a_file_that_is_taken_away_ends_the_recording_and_not_the_run(
    serve: Serve, tape: Path, ask: Asker, caplog: pytest.LogCaptureFixture
) -> None:
    model = recording(serve([Reply("one")]), "anthropic", tape)
    tape.unlink()
    tape.mkdir()

    assert await ask(model)

    assert [record.getMessage().partition(":")[0] for record in caplog.records if record.levelname == "WARNING"] == [
        f"recording to {tape} has ended"
    ]


async def test_half_a_line_is_passed_over(serve: Serve, tape: Path, ask: Asker, tmp_path: Path) -> None:
    model = recording(serve([Reply("one", chunk_size=9)]), "anthropic", tape)
    await ask(model)
    whole = tape.read_bytes()
    cut = tmp_path / "cut.jsonl"

    for length in range(len(HEAD), len(whole)):
        cut.write_bytes(whole[:length])
        exchanges = read_exchanges(cut)
        assert len(exchanges) in (0, 1)


async def test_a_cassette_that_ends_in_half_a_line_can_be_gone_on_with(serve: Serve, tape: Path, ask: Asker) -> None:
    tape.write_bytes(HEAD + b'{"type":"request","id"')

    await ask(recording(serve([Reply("one")]), "anthropic", tape))

    assert [exchange.ending for exchange in read_exchanges(tape)] == ["whole"]


async def test_a_recording_that_was_cut_short_is_played_as_a_cut_stream(serve: Serve, tape: Path, ask: Asker) -> None:
    await ask(recording(serve([Reply("one two three")]), "anthropic", tape))
    lines = tape.read_bytes().splitlines(keepends=True)
    first = next(number for number, line in enumerate(lines) if b'"response"' in line)
    tape.write_bytes(b"".join(lines[: first + 1]))

    with pytest.raises(NetworkError, match="cut off"):
        await ask(replaying(tape))


async def test_what_is_played_costs_nothing(serve: Serve, tape: Path, ask: Asker) -> None:
    await ask(recording(serve([Reply("one")]), "openai-chat", tape))

    facts = await replaying(tape).facts.load()

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


def _started(path: Path) -> Tape:
    tape = Tape(path)
    tape.open()
    return tape
