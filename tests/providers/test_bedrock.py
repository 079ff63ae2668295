from __future__ import annotations

import logging
import subprocess
import sys
from pathlib import Path

import pytest
from botocore.credentials import Credentials
from fakes.asking import Asker, ModelAt, Serve
from fakes.bedrock_judge import accepted_by_bedrock, is_signed
from fakes.bedrock_wire import event, exception
from fakes.model_server import Failure, ModelServer, Raw, Reply
from fakes.simple_tools import SimpleTool

from harness.agent import Agent
from harness.errors import (
    AuthenticationFailed,
    ConfigError,
    ContextWindowOverflow,
    ModelNotFound,
    ModelOverloaded,
    ModelThrottled,
    NetworkError,
    ProviderError,
    QuotaExhausted,
    RequestRejected,
)
from harness.messages import AssistantMessage, JsonObject, Text, Thinking, user
from harness.options import AgentOptions
from harness.provider import AnswerSchema, Done, Model, Request
from harness.retry import RetryPolicy
from providers import connect, endpoint_of, list_models
from providers.bedrock.signing import Asked
from providers.bedrock.site import BedrockSite
from providers.catalog import presets
from providers.transport import json_bytes

KEY = "ABSK-very-secret-0123456789"
KEYS = Credentials("AKIAEXAMPLE0123456789", "wJalr/secret+key", "a-session-token==")
CLAUDE = "eu.anthropic.claude-sonnet-4-5-20250929-v1:0"
STREAM = "application/vnd.amazon.eventstream"


@pytest.fixture
def key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_BEARER_TOKEN_BEDROCK", KEY)


@pytest.fixture
def keys(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", KEYS.access_key)
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", KEYS.secret_key)
    monkeypatch.setenv("AWS_SESSION_TOKEN", KEYS.token)


def site(base_url: str | None = None) -> BedrockSite:
    return BedrockSite(endpoint_of(presets()["bedrock"], base_url))


def all_signed(server: ModelServer, region: str) -> bool:
    return all(
        is_signed(server.url + request.path, request.headers, json_bytes(request.body), KEYS, region)
        for request in server.requests
    )


async def ask_with(model: Model, request: Request) -> list[object]:
    return [delta async for delta in model.provider.stream(request)]


@pytest.mark.usefixtures("keys")
async def test_a_whole_run_with_tools_is_signed_and_thinking_goes_back(
    serve: Serve, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AWS_REGION", "eu-central-1")
    look = Reply("Looking.", thinking="Hm", signature="c2ln", calls=[("look", {"at": "ü"}), ("look", {"at": "b"})])
    server = serve([look, Reply("Both are fine.")])
    model = connect(f"bedrock/{CLAUDE}", base_url=server.url, thinking="low")
    agent = Agent(model, [SimpleTool("look")])
    names: list[str] = []
    agent.subscribe(lambda event: names.append(type(event).__name__))

    result = await agent.prompt("Look at both")
    await model.provider.close()

    assert result.text == "Both are fine."
    assert [request.path for request in server.requests] == [f"/model/{CLAUDE[:-2]}%3A0/converse-stream"] * 2
    assert all_signed(server, "eu-central-1")
    assert server.requests[0].headers["x-amz-security-token"] == KEYS.token
    assert all(accepted_by_bedrock(request.body, CLAUDE) for request in server.requests)
    thought, said, *calls = server.requests[1].body["messages"][1]["content"]
    assert thought == {"reasoningContent": {"reasoningText": {"text": "Hm", "signature": "c2ln"}}}
    assert said == {"text": "Looking."}
    results = [block["toolResult"] for block in server.requests[1].body["messages"][2]["content"][:2]]
    assert [result["toolUseId"] for result in results] == [call["toolUse"]["toolUseId"] for call in calls]
    turn = ["RequestStart", "MessageStart", "MessageEnd", "UsageUpdate"]
    assert [name for name in names if name != "MessageUpdate"] == [
        *("AgentStart", "TurnStart", "MessageStart", "MessageEnd", *turn),
        *(["ToolExecutionStart", "ToolExecutionEnd"] * 2),
        *("TurnEnd", "TurnStart", *turn, "TurnEnd", "AgentEnd"),
    ]


@pytest.mark.usefixtures("keys")
async def test_the_name_of_a_profile_is_signed_as_it_is_sent(serve: Serve, ask: Asker) -> None:
    server = serve([Reply("Hi")])
    name = "arn:aws:bedrock:us-east-1:123456789012:application-inference-profile/a1b2"
    model = connect(f"bedrock/{name}", base_url=server.url)

    await ask(model)
    await model.provider.close()

    assert "%3A123456789012%3Aapplication-inference-profile%2Fa1b2/" in server.requests[0].path
    assert all_signed(server, "us-east-1")


@pytest.mark.usefixtures("key", "keys")
async def test_an_api_key_goes_before_a_signature(serve: Serve, model_at: ModelAt, ask: Asker) -> None:
    server = serve([Reply("Hi")])

    await ask(model_at(server, "bedrock"))

    sent = server.requests[0]
    assert sent.headers["authorization"] == f"Bearer {KEY}"
    assert not [name for name in sent.headers if name.startswith("x-amz")]
    assert KEY not in sent.path + str(sent.body)


async def test_a_gateway_may_want_neither(serve: Serve, model_at: ModelAt, ask: Asker) -> None:
    server = serve([Reply("Hi")])

    deltas = await ask(model_at(server, "bedrock"))

    assert isinstance(deltas[-1], Done)
    assert "authorization" not in server.requests[0].headers


@pytest.mark.parametrize(
    ("told", "base_url", "host"),
    [
        ({}, None, "https://bedrock-runtime.us-east-1.amazonaws.com"),
        ({"AWS_DEFAULT_REGION": "eu-west-3"}, None, "https://bedrock-runtime.eu-west-3.amazonaws.com"),
        (
            {"AWS_REGION": "us-gov-west-1", "AWS_DEFAULT_REGION": "x"},
            None,
            "https://bedrock-runtime.us-gov-west-1.amazonaws.com",
        ),
        ({"AWS_REGION": "cn-north-1"}, None, "https://bedrock-runtime.cn-north-1.amazonaws.com.cn"),
        ({"AWS_REGION": "eu-west-3"}, "https://models.example/aws", "https://models.example/aws"),
    ],
)
@pytest.mark.usefixtures("key")
def test_the_region_makes_the_host(
    monkeypatch: pytest.MonkeyPatch, told: dict[str, str], base_url: str | None, host: str
) -> None:
    for variable, value in told.items():
        monkeypatch.setenv(variable, value)

    assert site(base_url).endpoint.base_url == host


@pytest.mark.parametrize(("profile", "region"), [("", "eu-north-1"), ("work", "ap-south-1"), ("other", "us-east-1")])
@pytest.mark.usefixtures("key")
def test_the_region_of_a_profile_is_known(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, profile: str, region: str
) -> None:
    file = tmp_path / "config"
    file.write_text("[default]\nregion = eu-north-1\n[profile work]\nsso_session = w\nregion=ap-south-1\n")
    monkeypatch.setenv("AWS_CONFIG_FILE", str(file))
    monkeypatch.setenv("AWS_PROFILE", profile)

    assert f".{region}." in site().endpoint.base_url


@pytest.mark.usefixtures("keys")
async def test_a_host_of_amazons_tells_the_region_it_is_signed_for() -> None:
    here = site("https://vpce-1.bedrock-runtime.eu-west-1.vpce.amazonaws.com")

    endpoint, headers = await here.admitted(Asked("POST", here.endpoint.base_url + "/model/x"), None)

    assert "/eu-west-1/bedrock/aws4_request" in headers["authorization"]
    assert KEYS.secret_key not in repr(endpoint) + str(headers)


def test_what_would_lead_elsewhere_is_no_region(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_REGION", "evil.example/x?")

    with pytest.raises(ConfigError, match="AWS_REGION"):
        connect("bedrock/m")


async def test_without_any_credentials_one_is_told_how_to_get_some(ask: Asker) -> None:
    with pytest.raises(AuthenticationFailed, match="no credentials for AWS were found; log in with: aws sso login, or"):
        await ask(connect("bedrock/m"))


async def test_who_logs_in_later_is_let_in(monkeypatch: pytest.MonkeyPatch) -> None:
    here = site()
    asked = Asked("POST", here.endpoint.base_url + "/model/x")
    with pytest.raises(AuthenticationFailed):
        await here.admitted(asked, None)
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", KEYS.access_key)
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", KEYS.secret_key)

    _, headers = await here.admitted(asked, None)

    assert KEYS.access_key in headers["authorization"]


async def test_a_profile_that_is_not_there_is_told(monkeypatch: pytest.MonkeyPatch, ask: Asker) -> None:
    monkeypatch.setenv("AWS_PROFILE", "nobody")

    with pytest.raises(AuthenticationFailed, match=r"aws sso login.*nobody"):
        await ask(connect("bedrock/m"))


def test_without_a_key_and_without_the_extra_both_ways_are_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("providers.bedrock.site.can_sign", lambda: False)

    with pytest.raises(ConfigError, match=r"AWS_BEARER_TOKEN_BEDROCK; .*pip install 'cinch-tui\[bedrock\]'"):
        connect("bedrock")


def test_connecting_does_not_load_amazons_library() -> None:
    code = (
        "import sys; from providers import connect; connect('bedrock');"
        "print(sorted(name for name in sys.modules if name.startswith(('botocore', 'urllib3', 'httpx'))))"
    )

    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert run.stdout.strip() == "[]"


@pytest.mark.parametrize(
    ("refusal", "kind", "told"),
    [
        (Failure(403, "The security token included in the request is expired"), AuthenticationFailed, "expired"),
        (
            Failure(403, {"Message": "User is not authorized"}),
            AuthenticationFailed,
            "AWS_BEARER_TOKEN_BEDROCK was refused",
        ),
        (
            Failure(403, {}, {"x-amzn-errortype": "ExpiredTokenException"}),
            AuthenticationFailed,
            "ExpiredTokenException",
        ),
        (Failure(429, "Too many tokens, please wait before trying again."), ModelThrottled, "too many requests"),
        (Failure(429, "Too many tokens per day, please wait."), QuotaExhausted, "no credit or quota"),
        (Failure(400, "Input is too long for requested model."), ContextWindowOverflow, "longer than"),
        (Failure(400, "The model returned: prompt is too long: 9 tokens > 8"), ContextWindowOverflow, "longer than"),
        (Failure(400, "The text field in the ContentBlock object is blank"), RequestRejected, "is blank"),
        (Failure(400, "The provided model identifier is invalid."), ModelNotFound, "did you mean some-models"),
        (
            Failure(400, "Invocation of model ID some-model with on-demand throughput isn\u2019t supported."),
            ModelNotFound,
            "did you mean some-models",
        ),
        (Failure(404, "Could not resolve the foundation model"), ModelNotFound, "did you mean some-models"),
        (Failure(424, "The model failed"), NetworkError, "The model failed"),
        (Failure(503, "Bedrock is unable to process your request."), ModelOverloaded, "overloaded"),
        (Failure(500), NetworkError, "HTTP 500"),
    ],
)
@pytest.mark.usefixtures("key")
async def test_each_refusal_has_its_own_error(
    serve: Serve, model_at: ModelAt, ask: Asker, *, refusal: Failure, kind: type[ProviderError], told: str
) -> None:
    server = serve([refusal])
    server.models = ("some-models", "other")

    with pytest.raises(kind) as caught:
        await ask(model_at(server, "bedrock"))

    assert type(caught.value) is kind
    assert told in str(caught.value)
    assert KEY not in str(caught.value)


@pytest.mark.usefixtures("keys")
async def test_credentials_are_in_no_error_no_log_and_no_repr(
    serve: Serve, model_at: ModelAt, ask: Asker, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG, "cinch")
    server = serve([Failure(403, f"{KEYS.access_key} may not")])
    model = model_at(server, "bedrock")

    with pytest.raises(
        AuthenticationFailed, match=r"your credentials for AWS was refused \(403\).*\[key\] may not"
    ) as caught:
        await ask(model)

    seen = str(caught.value) + repr(model)
    assert not [secret for secret in (KEYS.access_key, KEYS.secret_key, KEYS.token) if secret in seen]


async def test_the_wait_that_is_asked_for_is_kept(serve: Serve, model_at: ModelAt, ask: Asker) -> None:
    server = serve([Failure(429, "Slow down", {"retry-after": "7", "x-amzn-errortype": "ThrottlingException"})])

    with pytest.raises(ModelThrottled) as caught:
        await ask(model_at(server, "bedrock"))

    assert caught.value.retry_after == 7


@pytest.mark.parametrize(
    ("refusal", "field"),
    [
        ("You invoked an unsupported model or your request did not allow prompt caching.", "cachePoint"),
        ("#/toolConfig/tools/1: extraneous key [cachePoint] is not permitted", "cachePoint"),
        ("Extended thinking is not supported by this model", "budget_tokens"),
        ("outputConfig.textFormat is not supported", "textFormat"),
    ],
)
async def test_what_a_model_refuses_is_left_out_from_then_on(serve: Serve, refusal: str, field: str) -> None:
    server = serve([Failure(400, refusal), Reply("a"), Reply("b")])
    model = connect(f"bedrock/{CLAUDE}", base_url=server.url, thinking="low")
    schema: JsonObject = {"type": "object", "properties": {"a": {"type": "string"}}}
    request = Request(model.spec, "S", (user("Go"),), temperature=0.5, answer_schema=AnswerSchema("A", schema))

    for _ in range(2):
        await ask_with(model, request)
    await model.provider.close()

    assert [field in str(request.body) for request in server.requests] == [True, False, False]


async def test_a_thought_that_is_not_taken_back_is_left_out_and_new_ones_stay(serve: Serve) -> None:
    server = serve([Failure(400, "messages.1: Invalid `signature` in `thinking` block"), Reply("a"), Reply("b")])
    model = connect(f"bedrock/{CLAUDE}", base_url=server.url, thinking="low")
    old, new = (
        AssistantMessage((Thinking(name, signature="c2ln"), Text("x")), CLAUDE, "bedrock") for name in ("old", "new")
    )

    await ask_with(model, Request(model.spec, "", (user("a"), old, user("b"))))
    await ask_with(model, Request(model.spec, "", (user("a"), old, user("b"), new, user("c"))))
    await model.provider.close()

    assert [("old" in str(r.body), "'new'" in str(r.body)) for r in server.requests] == [
        (True, False),
        (False, False),
        (False, True),
    ]
    assert all("budget_tokens" in str(request.body) for request in server.requests)


async def test_a_turn_that_another_model_began_goes_on_without_thinking(serve: Serve) -> None:
    refusal = "messages.1.content.0.type: Expected `thinking` or `redacted_thinking`, but found `tool_use`."
    server = serve([Failure(400, refusal), Reply("a"), Reply("b")])
    model = connect(f"bedrock/{CLAUDE}", base_url=server.url, thinking="low")

    for _ in range(2):
        await ask_with(model, Request(model.spec, "", (user("Go"),)))
    await model.provider.close()

    assert ["budget_tokens" in str(request.body) for request in server.requests] == [True, False, True]


async def test_what_is_refused_again_and_what_has_begun_is_told(serve: Serve, model_at: ModelAt, ask: Asker) -> None:
    begun = event("contentBlockDelta", {"delta": {"text": "Hi"}, "contentBlockIndex": 0})
    broken = begun + exception("validationException", "temperature went wrong")
    refused = Failure(400, "temperature is not supported")
    server = serve([refused, refused, Raw(broken, content_type=STREAM)])

    for told in ("not supported", "went wrong"):
        with pytest.raises(RequestRejected, match=told):
            await ask(model_at(server, "bedrock"))

    assert len(server.requests) == 3


async def test_a_throttle_inside_a_stream_is_waited_for_and_the_run_goes_on(serve: Serve) -> None:
    throttled = event("messageStart", {"role": "assistant"}) + exception("throttlingException", "Slow down.")
    server = serve([Raw(throttled, chunk_size=7, content_type=STREAM), Reply("Here.")])
    model = connect("bedrock/some.model", base_url=server.url)

    retry = RetryPolicy(max_retries=1, initial=0.0, max_delay=0.0)
    result = await Agent(model, options=AgentOptions(retry=retry)).prompt("Go")
    await model.provider.close()

    assert result.text == "Here."
    assert len(server.requests) == 2


@pytest.mark.usefixtures("keys")
async def test_models_and_profiles_are_listed(serve: Serve) -> None:
    server = serve([])
    server.models = ("some.model-v1:0", "other.model")

    listed = await list_models("bedrock", base_url=server.url)

    assert listed == ["eu.acme.large-v1:0", "some.model-v1:0", "other.model"]


@pytest.mark.usefixtures("key")
def test_the_lists_are_kept_by_another_host_of_amazons(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_REGION", "eu-west-1")

    assert site().listing("/x") == "https://bedrock.eu-west-1.amazonaws.com/x"


@pytest.mark.parametrize(
    ("model_id", "native"),
    [
        (CLAUDE, True),
        ("global.anthropic.claude-opus-4-6-v1:0", True),
        ("anthropic.claude-3-7-sonnet-20250219-v1:0", False),
        ("amazon.nova-pro-v1:0", False),
    ],
)
@pytest.mark.usefixtures("key")
def test_models_that_can_be_held_to_a_schema_are_known(model_id: str, native: bool) -> None:
    assert connect(f"bedrock/{model_id}").native_schema is native
