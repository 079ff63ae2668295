from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from fakes.asking import Asker, ModelAt, Serve
from fakes.bedrock_access import CLAUDE, KEY, KEYS, key, keys
from fakes.bedrock_judge import accepted_by_bedrock, is_signed
from fakes.model_server import ModelServer, Reply
from fakes.simple_tools import SimpleTool

from harness.agent.agent import Agent
from harness.deltas import Done
from harness.errors import (
    AuthenticationFailed,
    ConfigError,
)
from providers import connect, endpoint_of, list_models
from providers.bedrock.provider import BedrockProvider
from providers.net.transport import json_bytes
from providers.preset import presets

__all__ = ["key", "keys"]


def site(base_url: str | None = None) -> BedrockProvider:
    return BedrockProvider(endpoint_of(presets()["bedrock"], base_url))


def all_signed(server: ModelServer, region: str) -> bool:
    return all(
        is_signed(server.url + request.path, request.headers, json_bytes(request.body), KEYS, region)
        for request in server.requests
    )


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
        *("ToolCallsReceived", *(["ToolExecutionStart", "ToolExecutionEnd"] * 2)),
        *(["MessageStart", "MessageEnd"] * 2),
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
    ("reported", "base_url", "host"),
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
    monkeypatch: pytest.MonkeyPatch, reported: dict[str, str], base_url: str | None, host: str
) -> None:
    for variable, value in reported.items():
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
async def test_an_amazon_host_determines_the_signing_region() -> None:
    here = site("https://vpce-1.bedrock-runtime.eu-west-1.vpce.amazonaws.com")

    endpoint, headers = await here.authorize("POST", here.endpoint.base_url + "/model/x", None)

    assert "/eu-west-1/bedrock/aws4_request" in headers["authorization"]
    assert KEYS.secret_key not in repr(endpoint) + str(headers)


def test_region_that_changes_the_host_is_rejected(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_REGION", "evil.example/x?")

    with pytest.raises(ConfigError, match="AWS_REGION"):
        connect("bedrock/m")


async def test_missing_credentials_name_how_to_get_some(ask: Asker) -> None:
    with pytest.raises(AuthenticationFailed, match="no AWS credentials found; log in with: aws sso login, or"):
        await ask(connect("bedrock/m"))


async def test_a_later_login_is_used(monkeypatch: pytest.MonkeyPatch) -> None:
    here = site()
    url = here.endpoint.base_url + "/model/x"
    with pytest.raises(AuthenticationFailed):
        await here.authorize("POST", url, None)
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", KEYS.access_key)
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", KEYS.secret_key)

    _, headers = await here.authorize("POST", url, None)

    assert KEYS.access_key in headers["authorization"]


async def test_a_profile_that_is_not_there_is_reported(monkeypatch: pytest.MonkeyPatch, ask: Asker) -> None:
    monkeypatch.setenv("AWS_PROFILE", "nobody")

    with pytest.raises(AuthenticationFailed, match=r"aws sso login.*nobody"):
        await ask(connect("bedrock/m"))


def test_without_a_key_and_without_the_extra_both_ways_are_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("providers.bedrock.provider.can_sign", lambda: False)

    with pytest.raises(ConfigError, match=r"AWS_BEARER_TOKEN_BEDROCK; .*pip install 'cinch-tui\[bedrock\]'"):
        connect("bedrock")


def test_connecting_does_not_load_amazons_library() -> None:
    code = (
        "import sys; from providers import connect; connect('bedrock');"
        "print(sorted(name for name in sys.modules if name.startswith(('botocore', 'urllib3', 'httpx'))))"
    )

    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert run.stdout.strip() == "[]"


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
