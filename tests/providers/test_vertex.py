from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from fakes.asking import Asker, Serve
from fakes.model_server import Failure, Reply
from fakes.simple_tools import SimpleTool
from fakes.token_server import TokenServer, write_key_file

from harness.agent.agent import Agent
from harness.errors import AuthenticationFailed, ConfigError, ModelNotFound, NetworkError
from providers import connect, endpoint_of, list_models
from providers.gemini.vertex import VertexProvider
from providers.preset import presets

TOKEN, API_KEY = "ya29.a-token", "AQ.an-api-key"


@pytest.fixture(autouse=True)
def bare_environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for variable in ("GOOGLE_CLOUD_LOCATION", "GOOGLE_VERTEX_BASE_URL", *presets()["vertex"].variables):
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.setenv("GOOGLE_CLOUD_PROJECT", "my-project")
    monkeypatch.setenv("GOOGLE_APPLICATION_CREDENTIALS", str(tmp_path / "missing.json"))
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")


@pytest.fixture
def log_in(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Callable[..., TokenServer]]:
    servers: list[TokenServer] = []

    def begin(**how: int) -> TokenServer:
        servers.append(TokenServer(**how).__enter__())
        key_file = write_key_file(tmp_path / "key.json", servers[-1].token_url)
        monkeypatch.setenv("GOOGLE_APPLICATION_CREDENTIALS", str(key_file))
        return servers[-1]

    yield begin
    for server in servers:
        server.__exit__()


def site() -> VertexProvider:
    return VertexProvider(endpoint_of(presets()["vertex"]))


@pytest.mark.parametrize(
    ("location", "host"),
    [
        ("", "https://aiplatform.googleapis.com"),
        ("global", "https://aiplatform.googleapis.com"),
        ("us-central1", "https://us-central1-aiplatform.googleapis.com"),
        ("eu", "https://aiplatform.eu.rep.googleapis.com"),
    ],
)
async def test_a_token_is_used_in_the_project_and_at_the_host_of_its_location(
    monkeypatch: pytest.MonkeyPatch, location: str, host: str
) -> None:
    monkeypatch.setenv("GOOGLE_CLOUD_LOCATION", location)
    monkeypatch.setenv("GOOGLE_OAUTH_ACCESS_TOKEN", TOKEN)

    way = await site().route(None)

    assert way.endpoint.base_url == host
    assert way.root == f"/v1beta1/projects/my-project/locations/{location or 'global'}"
    assert way.headers["authorization"] == f"Bearer {TOKEN}"
    assert "x-goog-api-key" not in way.headers


async def test_an_api_key_knows_its_project_and_goes_to_the_global_host(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GOOGLE_CLOUD_LOCATION", "us-central1")
    monkeypatch.setenv("GOOGLE_VERTEX_API_KEY", API_KEY)

    way = await site().route(None)

    assert (way.endpoint.base_url, way.root) == ("https://aiplatform.googleapis.com", "/v1beta1")
    assert way.headers["x-goog-api-key"] == API_KEY
    assert "authorization" not in way.headers


@pytest.mark.parametrize(("key", "header"), [(TOKEN, "authorization"), (API_KEY, "x-goog-api-key")])
async def test_a_key_of_a_request_is_sent_as_what_it_is(monkeypatch: pytest.MonkeyPatch, key: str, header: str) -> None:
    monkeypatch.setenv("GOOGLE_VERTEX_API_KEY", "AQ.another")

    way = await site().route(key)

    assert key in way.headers[header]
    assert "AQ.another" not in str(way.headers)


@pytest.mark.parametrize(("project", "root"), [("my-project", "/projects/my-project/locations/eu"), ("", "")])
async def test_a_gateway_needs_no_key_and_gets_the_same_paths(
    monkeypatch: pytest.MonkeyPatch, project: str, root: str
) -> None:
    monkeypatch.setenv("GOOGLE_CLOUD_PROJECT", project)
    monkeypatch.setenv("GOOGLE_CLOUD_LOCATION", "eu")
    monkeypatch.setenv("GOOGLE_VERTEX_BASE_URL", "https://models.example/google/v1")

    way = await site().route(None)

    assert (way.endpoint.base_url, way.root) == ("https://models.example/google", f"/v1beta1{root}")
    assert not {"authorization", "x-goog-api-key"} & way.headers.keys()


@pytest.mark.parametrize(
    ("model_id", "name"),
    [
        ("gemini-3.8-flash", "publishers/google/models/gemini-3.8-flash"),
        ("models/gemini-3.8-flash", "publishers/google/models/gemini-3.8-flash"),
        ("acme/its-model", "publishers/acme/models/its-model"),
        ("publishers/google/models/x", "publishers/google/models/x"),
        ("projects/p/locations/l/endpoints/7", "projects/p/locations/l/endpoints/7"),
    ],
)
def test_a_model_is_named_with_its_publisher(monkeypatch: pytest.MonkeyPatch, model_id: str, name: str) -> None:
    monkeypatch.setenv("GOOGLE_OAUTH_ACCESS_TOKEN", TOKEN)

    assert site().model_name(model_id) == name


async def test_a_whole_run_with_a_tool(serve: Serve, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GOOGLE_OAUTH_ACCESS_TOKEN", TOKEN)
    server = serve([Reply(calls=[("look", {})]), Reply("Fine.")])
    model = connect("vertex/gemini-3.8-flash", base_url=server.url)
    agent = Agent(model, [SimpleTool("look")])
    names: list[str] = []
    agent.subscribe(lambda event: names.append(type(event).__name__))

    result = await agent.prompt("Look")
    await model.provider.close()

    assert result.text == "Fine."
    models = "/v1beta1/projects/my-project/locations/global/publishers/google/models"
    assert [request.path for request in server.requests] == [
        f"{models}/gemini-3.8-flash:streamGenerateContent?alt=sse"
    ] * 2
    assert {request.headers["authorization"] for request in server.requests} == {f"Bearer {TOKEN}"}
    called = server.requests[1].body["contents"][1]["parts"][0]
    assert called["thoughtSignature"] == "c2lnbmF0dXJl"
    turn = ["RequestStart", "MessageStart", "MessageEnd", "UsageUpdate"]
    assert [name for name in names if name != "MessageUpdate"] == [
        *("AgentStart", "TurnStart", "MessageStart", "MessageEnd", *turn),
        *(
            "ToolCallsReceived",
            "ToolExecutionStart",
            "ToolExecutionEnd",
            "MessageStart",
            "MessageEnd",
            "TurnEnd",
            "TurnStart",
            *turn,
            "TurnEnd",
            "AgentEnd",
        ),
    ]


async def test_models_are_listed_and_the_nearest_reported(
    serve: Serve, ask: Asker, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GOOGLE_OAUTH_ACCESS_TOKEN", TOKEN)
    server = serve([Failure(404, "Publisher Model `…/gemini-3.8-flush` was not found")])
    server.models = ("gemini-3.8-flash",)
    model = connect("vertex/gemini-3.8-flush", base_url=server.url)

    with pytest.raises(ModelNotFound, match=r"did you mean gemini-3\.8-flash"):
        await ask(model)
    await model.provider.close()

    assert await list_models("vertex", base_url=server.url) == ["gemini-3.8-flash"]


async def test_a_login_is_used_where_there_is_no_key(
    log_in: Callable[..., TokenServer], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GOOGLE_CLOUD_QUOTA_PROJECT", "who-pays")
    tokens = log_in()
    here = site()

    first, second = await here.route(None), await here.route(None)

    assert first.headers == second.headers
    assert first.headers["authorization"] == "Bearer ya29.token-1"
    assert first.headers["x-goog-user-project"] == "who-pays"
    assert first.root == "/v1beta1/projects/my-project/locations/global"
    assert tokens.asked == 1


async def test_a_login_knows_its_project(log_in: Callable[..., TokenServer], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("GOOGLE_CLOUD_PROJECT")
    log_in()

    way = await site().route(None)

    assert way.root == "/v1beta1/projects/of-the-login/locations/global"


async def test_a_token_that_expires_is_renewed(log_in: Callable[..., TokenServer]) -> None:
    tokens = log_in(expires_in=1)
    here = site()

    headers = [(await here.route(None)).headers["authorization"] for _ in range(2)]

    assert headers == ["Bearer ya29.token-1", "Bearer ya29.token-2"]
    assert tokens.asked == 2


async def test_the_token_of_a_login_is_in_no_error_and_no_repr(log_in: Callable[..., TokenServer]) -> None:
    log_in()

    way = await site().route(None)

    assert "ya29" not in repr(way.endpoint)
    assert way.endpoint.hide_key("no: ya29.token-1") == "no: [key]"


async def test_a_revoked_login_explains_how_to_log_in(log_in: Callable[..., TokenServer]) -> None:
    log_in(status=400)

    with pytest.raises(AuthenticationFailed, match=r"gcloud auth application-default login.*revoked"):
        await site().route(None)


async def test_a_missing_login_names_how_to_log_in() -> None:
    with pytest.raises(AuthenticationFailed, match="no Google Cloud credentials found; log in with: gcloud auth"):
        await site().route(None)


async def test_an_unreachable_token_service_is_retryable(log_in: Callable[..., TokenServer]) -> None:
    log_in().__exit__()

    with pytest.raises(NetworkError, match="could not request a token from Google"):
        await site().route(None)


def test_without_a_key_and_without_the_extra_both_ways_are_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "google.auth", None)

    with pytest.raises(ConfigError, match=r"GOOGLE_VERTEX_API_KEY or .*pip install 'cinch-tui\[vertex\]'"):
        connect("vertex")


def test_a_token_without_a_project_is_reported_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("GOOGLE_CLOUD_PROJECT")
    monkeypatch.setenv("CLOUDSDK_AUTH_ACCESS_TOKEN", TOKEN)

    with pytest.raises(ConfigError, match="export GOOGLE_CLOUD_PROJECT"):
        connect("vertex/gemini-3.8-flash")


@pytest.mark.parametrize("variable", ["GOOGLE_CLOUD_PROJECT", "GOOGLE_CLOUD_LOCATION"])
def test_project_and_region_that_change_the_host_are_rejected(monkeypatch: pytest.MonkeyPatch, variable: str) -> None:
    monkeypatch.setenv("GOOGLE_OAUTH_ACCESS_TOKEN", TOKEN)
    monkeypatch.setenv(variable, "evil.example/x?")

    with pytest.raises(ConfigError, match=variable):
        connect("vertex/gemini-3.8-flash")


def test_connecting_does_not_load_googles_library() -> None:
    code = (
        "import sys; from providers import connect; connect('vertex'); connect('gemini/x', base_url='http://h');"
        "print(sorted(name for name in sys.modules if name.startswith(('google.', 'requests', 'httpx'))))"
    )

    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert run.stdout.strip() == "[]"
