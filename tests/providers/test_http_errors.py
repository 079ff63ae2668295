from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

import pytest
from fakes.asking import Asker, ModelAt, Serve
from fakes.model_server import Failure, Reply
from msgspec.structs import replace

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
from harness.messages import AssistantMessage, Text, Thinking, user
from http_client.retry_after import retry_after
from providers import connect
from providers.endpoint import Endpoint
from providers.net.http_errors import failure
from providers.preset import Secret, presets

KEY = "sk-very-secret-0123456789"
ENDPOINT = Endpoint(presets()["anthropic"], "https://me:pass@api.example.com/x?token=t", Secret(KEY, "keyring"))


def classified(status: int, body: str) -> ProviderError:
    return failure(ENDPOINT, status, body, {})


@pytest.mark.parametrize(
    ("status", "said", "kind"),
    [
        (401, "invalid x-api-key", AuthenticationFailed),
        (400, "No connected db.", AuthenticationFailed),
        (403, "permission denied", AuthenticationFailed),
        (403, "your input was flagged", RequestRejected),
        (402, "Insufficient credits", QuotaExhausted),
        (400, "Your credit balance is too low to access the API", QuotaExhausted),
        (429, "You exceeded your current quota, please check your plan and billing details", QuotaExhausted),
        (429, "rate limit: too many tokens per minute for this context", ModelThrottled),
        (429, "You exceeded your current token quota: please check your account balance", QuotaExhausted),
        (403, "Your newly created team doesn't have any credits yet", QuotaExhausted),
        (400, "`inputs` tokens + `max_new_tokens` must be <= 8193", ContextWindowOverflow),
        (500, "model requires more system memory (18.4 GiB) than is available (7.1 GiB)", RequestRejected),
        (404, "model: claude-x", ModelNotFound),
        (404, "Not Found", RequestRejected),
        (400, "x/y is not a valid model ID", ModelNotFound),
        (400, "The model `gpt-3` has been deprecated", ModelNotFound),
        (410, "this model is no longer available", ModelNotFound),
        (400, '"thinking.type.enabled" is not supported for this model', RequestRejected),
        (400, "prompt is too long: 210000 tokens > 200000 maximum", ContextWindowOverflow),
        (400, "input length and `max_tokens` exceed context limit: 190000 + 20000 > 200000", ContextWindowOverflow),
        (400, "This model's maximum context length is 8192 tokens. However, your messages", ContextWindowOverflow),
        (400, "the request exceeds the available context size (4096 tokens)", ContextWindowOverflow),
        (400, "The prompt exceeds the maximum number of tokens", ContextWindowOverflow),
        (400, "gateway.ContextWindowExceededError: this is longer than it can be", ContextWindowOverflow),
        (400, "max_tokens: 100000 exceeds the maximum allowed number of output tokens", RequestRejected),
        (400, "max_completion_tokens is too large: exceeds the limit of 16384", RequestRejected),
        (400, "messages.0.content.1.image.source: image exceeds the maximum of 5 MB", RequestRejected),
        (400, "tools.0.name: bad", RequestRejected),
        (413, "Request exceeds the maximum size", ContextWindowOverflow),
        (529, "Overloaded", ModelOverloaded),
        (503, "", ModelOverloaded),
        (500, "the model is overloaded", ModelOverloaded),
        (500, "Internal error", NetworkError),
        (408, "timeout", NetworkError),
        (502, "<html><title>Bad gateway</title></html>", NetworkError),
        (501, "not implemented", RequestRejected),
        (301, "", RequestRejected),
        (422, "bad field", RequestRejected),
    ],
)
def test_each_refusal_has_its_own_error(status: int, said: str, kind: type[ProviderError]) -> None:
    plain, wrapped = classified(status, said), classified(status, json.dumps({"error": {"message": said}}))

    assert type(plain) is kind
    assert (type(wrapped) is kind) or not said
    assert plain.status == status


def test_a_rejection_without_a_message_counts_as_too_long() -> None:
    assert type(classified(400, " ")) is ContextWindowOverflow
    assert type(classified(413, "")) is ContextWindowOverflow


@pytest.mark.parametrize(
    "body",
    [
        '{"type": "error", "error": {"type": "x", "message": "the reason"}}',
        '{"error": "the reason"}',
        '[{"error": {"message": "the reason"}}]',
        '{"message": "the reason"}',
        '{"detail": "the reason"}',
        '{"detail": [{"msg": "the reason", "loc": ["body"]}]}',
        '{"object": "error", "message": {"detail": [{"msg": "the reason", "loc": ["body", "stream_options"]}]}}',
        '{"errors": [{"message": "the reason"}]}',
        '{"error": {"message": "Provider returned error", "metadata": {"raw": "{\\"error\\": \\"the reason\\"}"}}}',
        "<html><head><title>the reason</title></head></html>",
        "the reason",
    ],
)
def test_the_reason_is_found_in_every_shape(body: str) -> None:
    assert "the reason" in str(classified(418, body))
    assert "{" not in str(classified(418, body))


def test_a_refused_key_is_named_by_its_source_and_never_shown() -> None:
    error = classified(401, f"invalid key {KEY} \x1b]0;x\x07")

    assert "the key from keyring was rejected (401)" in str(error)
    assert KEY not in str(error)
    assert "\x1b" not in str(error)


@pytest.mark.parametrize("place", [540, 575, 580, 590, 599])
def test_no_part_of_a_key_is_left_where_a_long_message_is_cut(place: int) -> None:
    error = classified(401, json.dumps({"error": {"message": f"{'x' * place} {KEY} and more"}}))

    assert KEY[:6] not in str(error)


@pytest.mark.parametrize("quoted", ["ab/cd=01234", r"ab\/cd\u003d01234", "ab%2Fcd%3d01234", "ab&#x2F;cd&#61;01234"])
def test_a_key_is_hidden_however_it_is_quoted(quoted: str) -> None:
    endpoint = replace(ENDPOINT, secret=Secret("ab/cd=01234", "a variable"))

    assert str(failure(endpoint, 400, f'{{"error": "no {quoted}!" ', {})).endswith('"no [key]!"')


def test_a_session_token_is_hidden_as_a_key_is() -> None:
    endpoint = replace(ENDPOINT, session_token="IQoJb3JpZ2lu/ZWM=")

    error = failure(endpoint, 403, '{"message": "x-amz-security-token:IQoJb3JpZ2lu/ZWM= does not match"}', {})

    assert "x-amz-security-token:[key] does not match" in str(error)
    assert "IQoJ" not in repr(endpoint)


@pytest.mark.parametrize("stand_in", ["x", "none", "EMPTY"])
def test_placeholder_key_is_not_removed_from_error_texts(stand_in: str) -> None:
    endpoint = replace(ENDPOINT, secret=Secret(stand_in, "a variable"))

    assert endpoint.hide_key(f"the max is {stand_in}") == f"the max is {stand_in}"


def test_neither_key_nor_password_shows_anywhere() -> None:
    shown = f"{ENDPOINT!r} {ENDPOINT.secret!r} {classified(404, 'no')}".replace(repr(ENDPOINT.base_url), "")

    assert KEY not in shown
    assert "pass" not in str(classified(404, "no"))
    assert "token" not in str(classified(404, "no"))


def test_a_missing_key_names_the_places_searched() -> None:
    error = failure(Endpoint(presets()["anthropic"], "https://x.example"), 401, "x-api-key required", {})

    assert "ANTHROPIC_API_KEY or ANTHROPIC_AUTH_TOKEN" in str(error)
    assert "pass api_key= to connect() for anthropic" in str(error)


def test_a_huge_reason_is_cut() -> None:
    assert len(str(classified(400, "x" * 1_000_000))) < 1000


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({"retry-after": "7"}, 7.0),
        ({"retry-after": "0.5"}, 0.5),
        ({"retry-after-ms": "1500", "retry-after": "9"}, 1.5),
        ({"retry-after": "soon"}, None),
        ({"retry-after": "-3"}, None),
        ({"retry-after": "Wed, 21 Oct 2015 07:28:00 GMT"}, 0.0),
        ({}, None),
    ],
)
def test_the_wait_a_service_asks_for_is_read(headers: Mapping[str, str], seconds: float | None) -> None:
    assert retry_after(headers) == seconds


def test_a_wait_until_a_date_is_read() -> None:
    date = format_datetime(datetime.now(UTC) + timedelta(seconds=90), usegmt=True)

    assert retry_after({"retry-after": date}) == pytest.approx(90, abs=5)


async def test_a_throttled_request_states_how_long_to_wait(
    serve: Serve, wire: str, model_at: ModelAt, ask: Asker
) -> None:
    server = serve([Failure(429, headers={"Retry-After": "3"}), Failure(529)])
    model = model_at(server, wire)

    with pytest.raises(ModelThrottled) as throttled:
        await ask(model)
    with pytest.raises(ModelOverloaded) as overloaded:
        await ask(model)

    assert throttled.value.retry_after == 3
    assert overloaded.value.retryable


async def test_an_unknown_model_is_answered_with_the_nearest_names(
    serve: Serve, wire: str, model_at: ModelAt, ask: Asker
) -> None:
    server = serve([Failure(404, "model: some-model not found")])
    server.models = ("sum-model", "another", "some-models")

    with pytest.raises(ModelNotFound, match="did you mean some-models or sum-model"):
        await ask(model_at(server, wire))


@pytest.mark.parametrize("variable", ["ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN"])
async def test_a_key_is_used_for_the_service_of_its_variable(
    serve: Serve, model_at: ModelAt, ask: Asker, monkeypatch: pytest.MonkeyPatch, variable: str
) -> None:
    monkeypatch.setenv(variable, KEY)
    server = serve([Failure(401, f"no: {KEY}"), Reply("Hi")])
    model = model_at(server, "anthropic")

    with pytest.raises(
        AuthenticationFailed, match=f"the key from environment variable {variable} was rejected"
    ) as caught:
        await ask(model)

    headers = server.requests[0].headers
    sent = headers.get("x-api-key") if variable == "ANTHROPIC_API_KEY" else headers.get("authorization")
    assert sent == (KEY if variable == "ANTHROPIC_API_KEY" else f"Bearer {KEY}")
    assert len({"x-api-key", "authorization"} & headers.keys()) == 1
    assert KEY not in str(caught.value)
    assert KEY not in repr(model)


async def test_thinking_that_a_service_no_longer_takes_back_is_left_out_once_and_for_all(
    serve: Serve, model_at: ModelAt, ask: Asker
) -> None:
    said = (
        "messages.1.content.0: Invalid `signature` in `thinking` block. The block is bound to a different conversation."
    )
    server = serve([Failure(400, said), Reply("Hi"), Reply("Hi again")])
    model = model_at(server, "anthropic")
    thought = AssistantMessage((Thinking("Hm", "sig"), Text("Yes")), model="some-model", provider="anthropic")

    await ask(model, user("Go"), thought, user("On"))
    await ask(model, user("Go"), thought, user("On"))

    sent = [json.dumps(request.body["messages"]) for request in server.requests]
    assert ["signature" in body for body in sent] == [True, False, False]


@pytest.mark.parametrize(
    "said", ["Unknown parameter: 'stream_options'.", "max_tokens: use max_completion_tokens instead"]
)
async def test_rejected_parameters_are_not_sent_again(serve: Serve, model_at: ModelAt, ask: Asker, said: str) -> None:
    server = serve([Failure(400, said), Reply("Hi"), Reply("Hi again")])
    model = model_at(server, "openai-chat")

    await ask(model)
    await ask(model)

    first, second, third = (request.body for request in server.requests)
    assert second == third
    assert (first == second) is ("max_tokens" in said)


async def test_a_limit_that_is_too_high_is_not_taken_for_an_unknown_parameter(serve: Serve, ask: Asker) -> None:
    server = serve([Failure(400, "max_completion_tokens is too large: 999999 (stream_options, reasoning)")])
    model = connect("openai-chat/x", base_url=server.openai_url)

    with pytest.raises(RequestRejected, match="too large"):
        await ask(model)
    await model.provider.close()

    assert len(server.requests) == 1


async def test_a_refusal_that_cannot_be_retried_is_reported_after_one_request(
    serve: Serve, wire: str, model_at: ModelAt, ask: Asker
) -> None:
    server = serve([Failure(400, "tools.0: bad")])

    with pytest.raises(RequestRejected, match=r"tools\.0: bad"):
        await ask(model_at(server, wire))

    assert len(server.requests) == 1


@pytest.mark.parametrize(
    ("said", "lasting"),
    [
        ("messages.1.content.0.type: Expected `thinking` or `redacted_thinking`, but found `tool_use`.", False),
        ('"thinking.type.enabled" is not supported for this model.', True),
    ],
)
async def test_thinking_is_left_off_where_the_service_cannot_have_it(
    serve: Serve, ask: Asker, said: str, lasting: bool
) -> None:
    script = [Failure(400, said), Reply("Hi"), Reply("Hi again")]
    server = serve(script)
    model = connect("anthropic/some-model", base_url=server.url, thinking="high")

    await ask(model)
    await ask(model)
    await model.provider.close()

    assert ["thinking" in request.body for request in server.requests] == [True, False, not lasting]
