from __future__ import annotations

import json
import logging

import pytest
from fakes.asking import ModelAt, Serve
from fakes.bedrock_wire import exception
from fakes.model_server import Failure, ModelServer, Raw, Reply
from fakes.simple_tools import SimpleTool
from msgspec.structs import replace

from harness.agent.agent import Agent
from harness.agent.options import AgentOptions
from harness.errors import AuthenticationFailed, ConfigError, ProviderError
from harness.messages import ModelSpec, user
from harness.ports.provider import Model, Request
from providers import ApiKey, EnvironmentCredentials, connect, presets
from providers.preset import Preset

OWN, OTHER = "sk-of-the-provider", "sk-of-this-request"


KEY_HEADERS = ("x-api-key", "x-goog-api-key", "authorization")


def keys_sent(server: ModelServer) -> list[str]:
    headers = [recorded.headers for recorded in server.requests]
    return [next((sent[name] for name in KEY_HEADERS if name in sent), "") for sent in headers]


def bare(keys: list[str]) -> list[str]:
    return [key.removeprefix("Bearer ") for key in keys]


async def ask_with(model: Model, key: str | None) -> None:
    request = Request(model.spec, "", (user("Hi"),), api_key=key)
    assert [delta async for delta in model.provider.stream(request)]


@pytest.fixture(autouse=True)
def own_key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", OWN)
    monkeypatch.setenv("OPENAI_API_KEY", OWN)
    monkeypatch.setenv("OLLAMA_API_KEY", OWN)
    monkeypatch.setenv("GEMINI_API_KEY", OWN)
    monkeypatch.setenv("LLM_API_KEY", OWN)
    monkeypatch.setenv("AWS_BEARER_TOKEN_BEDROCK", OWN)


async def test_a_request_may_bring_its_own_key(serve: Serve, wire: str, model_at: ModelAt) -> None:
    server = serve([Reply("a"), Reply("b"), Reply("c")])
    model = model_at(server, wire)

    for key in (None, OTHER, None):
        await ask_with(model, key)

    assert bare(keys_sent(server)) == [OWN, OTHER, OWN]
    assert server.connections_opened == 1


async def test_the_key_may_change_within_a_run(serve: Serve, wire: str, model_at: ModelAt) -> None:
    server = serve([Reply(calls=[("look", {})]), Reply(calls=[("look", {})]), Reply("done")])
    keys = iter([OTHER, "sk-fresh", None])
    asked: list[str] = []

    async def get_api_key(provider: str) -> str | None:
        asked.append(provider)
        return next(keys)

    agent = Agent(model_at(server, wire), [SimpleTool("look")], options=AgentOptions(get_api_key=get_api_key))
    names: list[str] = []
    agent.subscribe(lambda event: names.append(type(event).__name__))

    await agent.prompt("Go")

    assert bare(keys_sent(server)) == [OTHER, "sk-fresh", OWN]
    assert asked == [wire] * 3
    turn = ["RequestStart", "MessageStart", "MessageEnd", "UsageUpdate"]
    called = ["ToolCallsReceived", "ToolExecutionStart", "ToolExecutionEnd", "MessageStart", "MessageEnd", "TurnEnd"]
    assert [name for name in names if name != "MessageUpdate"] == [
        *("AgentStart", "TurnStart", "MessageStart", "MessageEnd", *turn, *called),
        *("TurnStart", *turn, *called),
        *("TurnStart", *turn, "TurnEnd", "AgentEnd"),
    ]


async def test_a_key_of_a_request_is_sent_like_the_providers_key(serve: Serve, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("ANTHROPIC_API_KEY")
    monkeypatch.setenv("ANTHROPIC_AUTH_TOKEN", OWN)
    server = serve([Reply("a")])
    model = connect("anthropic/m", base_url=server.url)

    await ask_with(model, OTHER)
    await model.provider.close()

    assert keys_sent(server) == [f"Bearer {OTHER}"]


async def test_a_key_is_enough_where_the_provider_has_none(
    serve: Serve, wire: str, model_at: ModelAt, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("ANTHROPIC_API_KEY")
    monkeypatch.delenv("OPENAI_API_KEY")
    monkeypatch.delenv("OLLAMA_API_KEY")
    monkeypatch.delenv("GEMINI_API_KEY")
    monkeypatch.delenv("LLM_API_KEY")
    monkeypatch.delenv("AWS_BEARER_TOKEN_BEDROCK")
    server = serve([Reply("a"), Reply("b")])
    model = model_at(server, wire)

    for key in (None, OTHER):
        await ask_with(model, key)

    assert bare(keys_sent(server)) == ["", OTHER]


async def test_a_key_of_a_request_is_in_no_error_and_no_log(
    serve: Serve, wire: str, model_at: ModelAt, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    server = serve([Failure(401, f"Incorrect API key provided: {OTHER}")])
    request = Request(ModelSpec(wire, "m"), "", (user("Hi"),), api_key=OTHER)

    with pytest.raises(AuthenticationFailed, match="key from this program was rejected") as caught:
        _ = [delta async for delta in model_at(server, wire).provider.stream(request)]

    assert OTHER not in str(caught.value)
    assert OTHER not in caplog.text
    assert OTHER not in repr(request)


async def test_a_key_that_a_stream_quotes_is_in_no_error(serve: Serve, wire: str, model_at: ModelAt) -> None:
    error = {"type": "authentication_error", "message": f"bad key {OTHER}"}
    event = f"data: {json.dumps({'type': 'error', 'error': error})}\n\n".encode()
    server = serve([Raw(exception("validationException", error["message"]) if wire == "bedrock" else event)])

    with pytest.raises(ProviderError, match=r"bad key \[key\]"):
        await ask_with(model_at(server, wire), OTHER)


@pytest.mark.parametrize("key", ["", "  ", "sk-ü", "sk-a\r\nx: y"])
async def test_an_invalid_key_is_rejected_before_anything_is_sent(
    serve: Serve, wire: str, model_at: ModelAt, key: str
) -> None:
    server = serve([Reply("a")])

    with pytest.raises(AuthenticationFailed, match="empty or contains invalid characters") as caught:
        await ask_with(model_at(server, wire), key)

    assert not server.requests
    assert not key.strip() or key not in str(caught.value)


async def refreshed() -> str:
    return OTHER


@pytest.mark.parametrize("given", [OTHER, lambda: OTHER, refreshed], ids=["string", "callback", "async callback"])
async def test_a_key_given_to_connect_is_sent(serve: Serve, given: ApiKey) -> None:
    server = serve([Reply("Hi")])
    model = connect("anthropic/m", base_url=server.url, api_key=given)

    await ask_with(model, None)
    await model.provider.close()

    assert keys_sent(server) == [OTHER]


async def test_a_key_callback_is_called_before_each_request(serve: Serve) -> None:
    server = serve([Reply("a"), Reply("b"), Reply("c")])
    keys = iter([OTHER, "sk-fresh-one", None])
    model = connect("anthropic/m", base_url=server.url, api_key=lambda: next(keys))

    for _ in range(3):
        await ask_with(model, None)
    await model.provider.close()

    assert keys_sent(server) == [OTHER, "sk-fresh-one", OWN]


@pytest.mark.parametrize("name", ["anthropic/m", "openai/m", "gemini/m", "openrouter/m"])
async def test_a_missing_key_is_an_error_at_the_first_request(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    preset = presets()[name.partition("/")[0]]
    for variable in (*preset.variables, preset.base_url_variable):
        monkeypatch.delenv(variable, raising=False)

    result = await Agent(connect(name)).prompt("Go")

    assert isinstance(result.failure, AuthenticationFailed)
    assert " or ".join(preset.variables) in str(result.failure)
    assert "pass api_key= to connect()" in str(result.failure)


async def test_get_api_key_is_called_without_a_key_in_the_environment(
    serve: Serve, monkeypatch: pytest.MonkeyPatch
) -> None:
    server = serve([Reply("Hi")])
    monkeypatch.delenv("ANTHROPIC_API_KEY")
    monkeypatch.delenv("ANTHROPIC_BASE_URL", raising=False)
    # The vendor's own address requires a key.
    own = replace(presets()["anthropic"], base_url=server.url)

    def preset_for(name: str) -> Preset:
        return own

    monkeypatch.setattr("providers.preset_for", preset_for)

    async def get_api_key(provider: str) -> str:
        return OTHER

    model = connect("anthropic/m")
    result = await Agent(model, options=AgentOptions(get_api_key=get_api_key)).prompt("Go")
    await model.provider.close()

    assert (result.text, keys_sent(server)) == ("Hi", [OTHER])


def test_a_missing_key_in_given_credentials_is_an_error_of_connect(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("GROQ_API_KEY", raising=False)

    with pytest.raises(ConfigError, match="no key for Groq: set GROQ_API_KEY"):
        connect("groq/m", credentials=EnvironmentCredentials())
