from __future__ import annotations

import gzip
import json
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import suppress
from itertools import pairwise
from pathlib import Path

import httpx
import pytest
from fakes.asking import Asker, Serve
from fakes.model_server import Failure, Raw, Reply
from fakes.tapes import HEAD, KEY, close_all, opened, recording
from hypothesis import given
from hypothesis import strategies as st

from harness.errors import ConfigError, ProviderError
from harness.messages import user
from harness.ports.provider import Request
from providers import connect
from providers.cassette.file import CassetteFile, read_exchanges
from providers.cassette.secrets import Secrets, SecretStream
from providers.cassette.transports import RecordingTransport
from providers.endpoint import Endpoint
from providers.preset import presets

OTHER = "sk-other-canary-9120"
TOKEN = "tok-canary-0123456"


@pytest.fixture
def tape(tmp_path: Path) -> Path:
    return tmp_path / "run.jsonl"


@pytest.fixture(autouse=True)
async def closed() -> AsyncIterator[None]:
    yield
    await close_all()


@pytest.mark.parametrize("chunk_size", [1, 3, 1000])
async def test_a_cassette_never_contains_a_key(
    serve: Serve, wire: str, tape: Path, chunk_size: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SOMEBODYS_TOKEN", TOKEN)
    echo = f"you said {KEY}, {OTHER} and {TOKEN}!"
    server = serve([Reply(echo), Raw(echo.encode(), chunk_size), Failure(401, echo)])
    model = recording(server, wire, tape)

    for _ in range(3):
        request = Request(model.spec, "", (user(f"{KEY} and {TOKEN}"),), api_key=OTHER)
        with suppress(ProviderError):
            _ = [delta async for delta in model.provider.stream(request)]

    assert len(read_exchanges(tape)) >= 3
    played = b"".join(b"".join(exchange.chunks) for exchange in read_exchanges(tape))
    assert b"you said [removed], [removed] and [removed]!" in played
    assert [key for key in (KEY, OTHER, TOKEN) if key.encode() in tape.read_bytes() + played] == []


async def test_a_key_in_an_address_or_in_a_packed_answer_is_not_kept(tape: Path) -> None:
    endpoint = Endpoint(presets()["anthropic"], "https://me:hunter22@h/v1?key=query-canary")
    headers = {"content-encoding": "gzip", "set-cookie": "c-canary", "anthropic-organization-id": "o-canary"}

    async def packed() -> AsyncIterator[bytes]:
        yield gzip.compress(b'{"said": "query-canary"}')

    answer = httpx.MockTransport(lambda asked: httpx.Response(200, content=packed(), headers=headers))
    client = httpx.AsyncClient(transport=RecordingTransport(answer, _started(tape), endpoint, "m"))

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
    body = f"a {KEY}{KEY[:7]} b sk-canary {KEY}".encode()
    edges = [0, *sorted(cut % (len(body) + 1) for cut in cuts), len(body)]
    stream = SecretStream(Secrets([KEY]))

    parts = [part for start, end in pairwise(edges) for part in stream.feed(0.0, body[start:end])]

    plain = b"".join(chunk for _, chunk in [*parts, *stream.finish()])
    assert plain == b"a [removed]" + KEY[:7].encode() + b" b sk-canary [removed]"


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


async def test_nothing_is_written_unless_requested(
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


def test_a_file_of_something_else_is_not_written_to(tape: Path) -> None:
    tape.write_text("# Notes\n")

    with pytest.raises(ConfigError, match="is not a cassette"):
        connect("ollama/m", record=tape)

    assert tape.read_text() == "# Notes\n"


def test_a_folder_that_is_not_there_is_reported(tape: Path) -> None:
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
        f"recording to {tape} stopped"
    ]


async def test_half_a_line_is_passed_over(serve: Serve, tape: Path, ask: Asker, tmp_path: Path) -> None:
    model = recording(serve([Reply("one", chunk_size=9)]), "anthropic", tape)
    await ask(model)
    whole = tape.read_bytes()
    cut = tmp_path / "cut.jsonl"

    newlines = [at for at, byte in enumerate(whole) if byte == ord("\n") and at > len(HEAD)]
    near = {at + offset for at in newlines for offset in range(-2, 3)}
    for length in sorted({*range(len(HEAD), len(whole), 9), *near}):
        cut.write_bytes(whole[:length])
        exchanges = read_exchanges(cut)
        assert len(exchanges) in (0, 1)


async def test_a_cassette_with_a_partial_last_line_can_be_continued(serve: Serve, tape: Path, ask: Asker) -> None:
    tape.write_bytes(HEAD + b'{"type":"request","id"')

    await ask(recording(serve([Reply("one")]), "anthropic", tape))

    assert [exchange.ending for exchange in read_exchanges(tape)] == ["whole"]


def _started(path: Path) -> CassetteFile:
    tape = CassetteFile(path)
    tape.open()
    return tape
