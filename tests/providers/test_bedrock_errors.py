from __future__ import annotations

import logging

import pytest
from fakes.asking import Asker, ModelAt, Serve
from fakes.bedrock_access import CLAUDE, KEY, KEYS, STREAM, key, keys
from fakes.bedrock_wire import event, exception
from fakes.model_server import Failure, Raw, Reply

from harness.agent.agent import Agent
from harness.agent.options import AgentOptions
from harness.agent.retry import RetryPolicy
from harness.errors import (
    AuthenticationFailed,
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
from harness.ports.provider import Model, OutputSchema, Request
from providers import connect

__all__ = ["key", "keys"]


async def ask_with(model: Model, request: Request) -> list[object]:
    return [delta async for delta in model.provider.stream(request)]


@pytest.mark.usefixtures("keys")
async def test_a_refused_signature_shows_no_session_token(serve: Serve) -> None:
    said = f"The canonical string should have been 'x-amz-security-token:{KEYS.token}'"
    model = connect(f"bedrock/{CLAUDE}", base_url=serve([Failure(403, said)]).url)

    with pytest.raises(AuthenticationFailed, match=r"x-amz-security-token:\[key\]"):
        await ask_with(model, Request(model.spec, "", (user("Hi"),)))
    await model.provider.close()


@pytest.mark.parametrize(
    ("refusal", "kind", "reported"),
    [
        (Failure(403, "The security token included in the request is expired"), AuthenticationFailed, "expired"),
        (
            Failure(403, {"Message": "User is not authorized"}),
            AuthenticationFailed,
            "AWS_BEARER_TOKEN_BEDROCK was rejected",
        ),
        (
            Failure(403, {}, {"x-amzn-errortype": "ExpiredTokenException"}),
            AuthenticationFailed,
            "ExpiredTokenException",
        ),
        (Failure(429, "Too many tokens, please wait before trying again."), ModelThrottled, "too many requests"),
        (Failure(429, "Too many tokens per day, please wait."), QuotaExhausted, "no credit or quota"),
        (Failure(400, "Input is too long for requested model."), ContextWindowOverflow, "context window"),
        (Failure(400, "The model returned: prompt is too long: 9 tokens > 8"), ContextWindowOverflow, "context window"),
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
    serve: Serve, model_at: ModelAt, ask: Asker, *, refusal: Failure, kind: type[ProviderError], reported: str
) -> None:
    server = serve([refusal])
    server.models = ("some-models", "other")

    with pytest.raises(kind) as caught:
        await ask(model_at(server, "bedrock"))

    assert type(caught.value) is kind
    assert reported in str(caught.value)
    assert KEY not in str(caught.value)


@pytest.mark.usefixtures("keys")
async def test_credentials_are_in_no_error_no_log_and_no_repr(
    serve: Serve, model_at: ModelAt, ask: Asker, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG, "cinch")
    server = serve([Failure(403, f"{KEYS.access_key} may not")])
    model = model_at(server, "bedrock")

    with pytest.raises(
        AuthenticationFailed, match=r"your AWS credentials was rejected \(403\).*\[key\] may not"
    ) as caught:
        await ask(model)

    seen = str(caught.value) + repr(model)
    assert not [secret for secret in (KEYS.access_key, KEYS.secret_key, KEYS.token) if secret in seen]


async def test_the_requested_wait_is_honored(serve: Serve, model_at: ModelAt, ask: Asker) -> None:
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
async def test_features_a_model_rejects_are_omitted_from_then_on(serve: Serve, refusal: str, field: str) -> None:
    server = serve([Failure(400, refusal), Reply("a"), Reply("b")])
    model = connect(f"bedrock/{CLAUDE}", base_url=server.url, thinking="low")
    schema: JsonObject = {"type": "object", "properties": {"a": {"type": "string"}}}
    request = Request(model.spec, "S", (user("Go"),), temperature=0.5, output_schema=OutputSchema("A", schema))

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


async def test_a_turn_started_by_another_model_continues_without_thinking(serve: Serve) -> None:
    refusal = "messages.1.content.0.type: Expected `thinking` or `redacted_thinking`, but found `tool_use`."
    server = serve([Failure(400, refusal), Reply("a"), Reply("b")])
    model = connect(f"bedrock/{CLAUDE}", base_url=server.url, thinking="low")

    for _ in range(2):
        await ask_with(model, Request(model.spec, "", (user("Go"),)))
    await model.provider.close()

    assert ["budget_tokens" in str(request.body) for request in server.requests] == [True, False, True]


async def test_a_repeated_refusal_and_a_begun_stream_are_reported(serve: Serve, model_at: ModelAt, ask: Asker) -> None:
    begun = event("contentBlockDelta", {"delta": {"text": "Hi"}, "contentBlockIndex": 0})
    broken = begun + exception("validationException", "temperature went wrong")
    refused = Failure(400, "temperature is not supported")
    server = serve([refused, refused, Raw(broken, content_type=STREAM)])

    for reported in ("not supported", "went wrong"):
        with pytest.raises(RequestRejected, match=reported):
            await ask(model_at(server, "bedrock"))

    assert len(server.requests) == 3


async def test_a_throttle_inside_a_stream_is_waited_for_and_the_run_continues(serve: Serve) -> None:
    throttled = event("messageStart", {"role": "assistant"}) + exception("throttlingException", "Slow down.")
    server = serve([Raw(throttled, chunk_size=7, content_type=STREAM), Reply("Here.")])
    model = connect("bedrock/some.model", base_url=server.url)

    retry = RetryPolicy(max_retries=1, initial=0.0, max_delay=0.0)
    result = await Agent(model, options=AgentOptions(retry=retry)).prompt("Go")
    await model.provider.close()

    assert result.text == "Here."
    assert len(server.requests) == 2
