from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from fakes.asking import Asker, ModelAt, Serve, said_in
from fakes.model_server import Failure, Reply

from harness.errors import RequestRejected
from harness.messages import user
from providers import connect

ROOT = Path(__file__).parents[2]
LATE = """
import asyncio, sys
from harness.messages import user
from harness.ports.provider import Request
from providers import connect

async def ask(model):
    await asyncio.to_thread(model.provider.warm)
    warmed = set(sys.modules)
    async for _ in model.provider.stream(Request(model.spec, "", (user("hi"),))):
        pass
    print(sorted(set(sys.modules) - warmed))

asyncio.run(ask(connect("openai-chat/m", base_url=sys.argv[1])))
"""


async def test_a_server_on_this_machine_is_reached_without_the_proxy(
    serve: Serve, wire: str, model_at: ModelAt, ask: Asker, monkeypatch: pytest.MonkeyPatch
) -> None:
    for variable in ("HTTP_PROXY", "ALL_PROXY"):
        monkeypatch.setenv(variable, "http://127.0.0.1:1")
    server = serve([Reply("Hi")])

    assert await ask(model_at(server, wire))


async def test_a_proxy_that_cannot_be_used_is_reported_at_the_first_request(
    ask: Asker, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ALL_PROXY", "gopher://127.0.0.1:1")
    model = connect("anthropic/x", base_url="http://models.example")

    model.provider.warm()

    with pytest.raises(RequestRejected, match="proxy"):
        await ask(model)


async def test_a_redirect_is_not_followed(serve: Serve, wire: str, model_at: ModelAt, ask: Asker) -> None:
    other = serve([Reply("stolen")])
    server = serve([Failure(307, headers={"location": f"{other.url}/v1/messages"})])

    with pytest.raises(RequestRejected, match="check the base URL"):
        await ask(model_at(server, wire))

    assert not other.requests


async def test_a_lone_surrogate_does_not_stop_a_request(serve: Serve, wire: str, model_at: ModelAt, ask: Asker) -> None:
    server = serve([Reply("Hi")])

    await ask(model_at(server, wire), user("a \ud800 b"))

    assert "a ? b" in str(said_in(server.requests[0].body))


async def test_common_mistakes_in_a_base_url_are_accepted(serve: Serve, ask: Asker) -> None:
    server = serve([Reply("Hi"), Reply("Hi"), Reply("Hi")])

    for name, url in (
        ("anthropic/x", f"{server.url}/v1/"),
        ("openai-chat/x", f"{server.openai_url}/chat/completions"),
        ("openai/x", f"{server.openai_url}/responses"),
    ):
        model = connect(name, base_url=url)
        await ask(model)
        await model.provider.close()

    assert [request.path for request in server.requests] == ["/v1/messages", "/v1/chat/completions", "/v1/responses"]


def test_a_warmed_client_sends_its_first_request_without_loading_more(serve: Serve) -> None:
    server = serve([Reply("Hi")])

    done = subprocess.run([sys.executable, "-c", LATE, server.openai_url], cwd=ROOT, capture_output=True, text=True)

    assert done.stdout.strip() == "[]", done.stderr
