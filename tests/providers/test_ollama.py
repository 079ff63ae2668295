from __future__ import annotations

import pytest
from fakes.asking import Asker, ModelAt, Serve, said_in
from fakes.model_server import Failure, ModelServer, Reply
from fakes.simple_tools import SimpleTool

from harness.agent.agent import Agent
from harness.errors import ModelNotFound, ModelOverloaded, ProviderError, RequestRejected
from harness.messages import AssistantMessage, ToolResult, Usage, UserMessage, user
from harness.ports.provider import Model, ModelInfo, Request, ToolSpec
from providers import connect, list_models
from providers.endpoint import address_in
from providers.model_catalog.metadata import FREE, LazyModelInfo

LOOK = ToolSpec("look", "Looks.", {"type": "object", "properties": {}})
PLAIN = {"capabilities": ["completion"]}


@pytest.fixture(autouse=True)
def nothing_chosen(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("OLLAMA_HOST", "OLLAMA_CONTEXT_LENGTH", "OLLAMA_KEEP_ALIVE"):
        monkeypatch.delenv(name, raising=False)


def options_of(server: ModelServer) -> object:
    return server.requests[-1].body.get("options")


async def ask_with_tool(model: Model) -> None:
    asked = Request(model.spec, "", (user("Hi"),), (LOOK,))
    assert [delta async for delta in model.provider.stream(asked)]


async def test_an_agent_works_with_a_tool(serve: Serve, model_at: ModelAt) -> None:
    server = serve(
        [
            Reply("I look.", thinking="Where?", calls=[("look", {"at": "ü"}), ("look", {"at": "b"})], chunk_size=7),
            Reply("Found.", usage=Usage(20, 4)),
        ]
    )
    tool = SimpleTool("look")
    agent = Agent(model_at(server, "ollama"), [tool])

    result = await agent.prompt("Find it")

    assert result.text == "Found."
    assert tool.ran == [{"at": "ü"}, {"at": "b"}]
    kinds = [type(message) for message in agent.history.messages]
    assert kinds == [UserMessage, AssistantMessage, ToolResult, ToolResult, AssistantMessage]
    first, second = (recorded.body for recorded in server.requests)
    assert [recorded.path for recorded in server.requests] == ["/api/chat", "/api/chat"]
    assert (first["stream"], first["think"], first["options"]) == (True, False, {"num_ctx": 32_768})
    answered = said_in(second)[-3:]
    assert [message["role"] for message in answered] == ["assistant", "tool", "tool"]
    assert answered[0]["thinking"] == "Where?"
    assert [call["function"]["arguments"] for call in answered[0]["tool_calls"]] == tool.ran
    assert [message["tool_name"] for message in answered[1:]] == ["look", "look"]


@pytest.mark.parametrize("path", ["", "/", "/v1", "/v1/", "/api", "/api/chat"])
async def test_the_address_may_be_given_in_any_of_its_forms(serve: Serve, ask: Asker, path: str) -> None:
    server = serve([Reply("one")])
    model = connect("ollama/m", base_url=server.url + path)

    assert await ask(model)
    assert server.requests[0].path == "/api/chat"
    await model.provider.close()


async def test_the_models_that_were_pulled_are_listed(serve: Serve) -> None:
    server = serve([])
    server.models = ("qwen3:8b", "gpt-oss:20b")

    assert await list_models("ollama", base_url=server.url) == ["qwen3:8b", "gpt-oss:20b"]


async def test_a_model_that_was_not_pulled_is_named_with_what_to_do(
    serve: Serve, model_at: ModelAt, ask: Asker
) -> None:
    server = serve([])
    server.models = ("some-model2", "llama3")
    server.shown = Failure(404, "model 'some-model' not found")

    with pytest.raises(ModelNotFound) as caught:
        await ask(model_at(server, "ollama"))

    assert str(caught.value) == (
        "Ollama: no such model (HTTP 404): model 'some-model' not found; did you mean some-model2?; "
        "to download it: ollama pull some-model"
    )
    assert server.requests == []


async def test_the_window_is_known_before_the_first_request_and_as_requested(
    serve: Serve, model_at: ModelAt, ask: Asker
) -> None:
    server = serve([Reply("one")])
    server.loaded = {"some-model:latest": 65_536}
    model = model_at(server, "ollama")

    facts = await model.info.load()
    await ask(model)

    assert isinstance(model.info, LazyModelInfo)
    assert facts == ModelInfo(65_536, price=FREE, images=True, tools=True, thinking=True)
    assert options_of(server) == {"num_ctx": 65_536}


async def test_a_requested_window_size_stays(serve: Serve, model_at: ModelAt, ask: Asker) -> None:
    server = serve([Reply("one"), Reply("two")])
    model = model_at(server, "ollama")

    await ask(model)
    server.loaded = {"some-model:latest": 65_536}
    await ask(model)

    assert options_of(server) == {"num_ctx": 32_768}


async def test_the_servers_own_variables_count_here_too(
    serve: Serve, model_at: ModelAt, ask: Asker, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OLLAMA_CONTEXT_LENGTH", "50000")
    monkeypatch.setenv("OLLAMA_KEEP_ALIVE", "1h")
    server = serve([Reply("one")])

    await ask(model_at(server, "ollama"))

    assert options_of(server) == {"num_ctx": 50_000}
    assert server.requests[0].body["keep_alive"] == "1h"


async def test_the_servers_address_is_taken_from_its_own_variable(
    serve: Serve, ask: Asker, monkeypatch: pytest.MonkeyPatch
) -> None:
    server = serve([Reply("one")])
    monkeypatch.setenv("OLLAMA_HOST", f"0.0.0.0:{server.port}")
    model = connect("ollama/m")

    assert await ask(model)
    await model.provider.close()


@pytest.mark.parametrize(
    ("host", "address"),
    [
        ("", ""),
        ("0.0.0.0", "http://127.0.0.1:11434"),
        (":8080", "http://127.0.0.1:8080"),
        ("[::]:8080", "http://127.0.0.1:8080"),
        ("box", "http://box:11434"),
        ("box:1", "http://box:1"),
        ("https://box/ollama", "https://box/ollama"),
    ],
)
def test_an_address_without_a_scheme_is_read_as_the_server_reads_it(host: str, address: str) -> None:
    assert address_in(host, 11434) == address


async def test_servers_without_model_details_are_queried(serve: Serve, model_at: ModelAt, ask: Asker) -> None:
    server = serve([Reply("one")])
    server.shown = Failure(404, "404 page not found")

    assert await ask(model_at(server, "ollama"))
    assert (options_of(server), "think" in server.requests[0].body) == ({"num_ctx": 32_768}, False)


async def test_a_model_of_the_cloud_has_its_whole_window(serve: Serve, ask: Asker) -> None:
    server = serve([Reply("one")])
    model = connect("ollama/kimi-k3:cloud", base_url=server.url)

    facts = await model.info.load()
    await ask(model)

    assert (facts.context_window, options_of(server)) == (131_072, None)
    await model.provider.close()


async def test_a_rejected_thinking_parameter_is_dropped_permanently(serve: Serve, ask: Asker) -> None:
    server = serve([Failure(400, '"m" does not support thinking'), Reply("one"), Reply("two")])
    server.shown = {}
    model = connect("ollama/m", base_url=server.url, thinking="high")

    for _ in range(2):
        assert await ask(model)

    assert [recorded.body.get("think") for recorded in server.requests] == [True, None, None]
    await model.provider.close()


@pytest.mark.parametrize(("shown", "asked"), [(PLAIN, 0), ({}, 1)])
async def test_a_model_without_tools_is_reported_plainly(
    serve: Serve, model_at: ModelAt, shown: dict[str, object], asked: int
) -> None:
    server = serve([Failure(400, "registry.ollama.ai/library/m:latest does not support tools")])
    server.shown = shown

    with pytest.raises(RequestRejected, match="some-model does not support tools"):
        await ask_with_tool(model_at(server, "ollama"))

    assert len(server.requests) == asked


async def test_a_model_without_tools_still_talks(serve: Serve, model_at: ModelAt, ask: Asker) -> None:
    server = serve([Reply("one")])
    server.shown = PLAIN

    assert await ask(model_at(server, "ollama"))


@pytest.mark.parametrize(
    ("failure", "error"),
    [
        (Failure(503, "server busy, please try again. maximum pending requests exceeded"), ModelOverloaded),
        (Failure(500, "model requires more system memory (18 GiB) than is available (7 GiB)"), RequestRejected),
        (Failure(400, "invalid options: num_ctx"), RequestRejected),
    ],
)
async def test_refusals_have_the_error_that_explains_what_to_do(
    serve: Serve, model_at: ModelAt, ask: Asker, failure: Failure, error: type[ProviderError]
) -> None:
    with pytest.raises(ProviderError) as caught:
        await ask(model_at(serve([failure]), "ollama"))

    assert type(caught.value) is error
