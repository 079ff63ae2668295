from __future__ import annotations

import logging
from collections.abc import Mapping

import pytest
from fakes.asking import AnswerRaw, Asker, ModelAt, Serve
from fakes.model_server import Failure, Raw, Reply
from fakes.refusals import KEY
from fakes.vendor_refusals import VENDOR_REFUSALS, VendorRefusal

from harness.agent.agent import Agent
from harness.agent.options import AgentOptions
from harness.agent.retry import RetryPolicy
from harness.errors import (
    ContextWindowOverflow,
    InvalidReply,
    ModelOverloaded,
    ModelThrottled,
    NetworkError,
    ProviderError,
    QuotaExhausted,
    RequestRejected,
    StreamError,
)
from harness.ports.provider import Model
from providers import connect
from providers.preset import presets

STEADY = RetryPolicy(random=lambda: 0.5)
AT_ONCE = RetryPolicy(initial=0, max_delay=0)
PAGE = "<!DOCTYPE html><html><head><title>{}</title></head><body>model api_key context</body></html>"


@pytest.fixture(autouse=True)
def keys(monkeypatch: pytest.MonkeyPatch) -> None:
    for preset in presets().values():
        for variable in preset.key_variables:
            monkeypatch.setenv(variable, KEY)
    monkeypatch.setenv("GOOGLE_CLOUD_PROJECT", "my-project")


async def refused(ask: Asker, model: Model) -> ProviderError:
    with pytest.raises(ProviderError) as caught:
        await ask(model)
    await model.provider.close()
    return caught.value


@pytest.mark.parametrize("refusal", VENDOR_REFUSALS, ids=str)
async def test_error_messages_of_each_vendor_are_recognized(
    serve: Serve, model_at: ModelAt, ask: Asker, caplog: pytest.LogCaptureFixture, refusal: VendorRefusal
) -> None:
    caplog.set_level(logging.DEBUG)
    answer = Failure(refusal.status, refusal.body, dict(refusal.headers))

    error = await refused(ask, model_at(serve([answer]), refusal.service))

    assert type(error) is refusal.kind
    assert refusal.reported in str(error)
    assert presets()[refusal.service].label in str(error)
    assert STEADY.delay(error, 1) == (refusal.wait and pytest.approx(refusal.wait, abs=1.1))
    assert "{" not in str(error)
    assert KEY not in f"{error!r} {caplog.text}"


@pytest.mark.parametrize(
    ("status", "title", "kind", "reported"),
    [
        (403, "Just a moment...", RequestRejected, "(Just a moment...): the request was blocked"),
        (401, "Sign in", RequestRejected, "the key is not the problem"),
        (429, "Too Many", ModelThrottled, "(Too Many)"),
        (502, "Bad Gateway", NetworkError, "(Bad Gateway): the gateway cannot reach"),
        (503, "Sorry", ModelOverloaded, "(Sorry): the gateway cannot reach"),
        (511, "", RequestRejected, "the network requires a login"),
        (404, "nginx", RequestRejected, "check the base URL. web page: nginx"),
        (200, "Airport", StreamError, "(Airport): check the base URL"),
    ],
)
async def test_a_web_page_is_reported_as_one_and_never_blamed_on_the_key(
    answer_raw: AnswerRaw, wire: str, ask: Asker, *, status: int, title: str, kind: type[ProviderError], reported: str
) -> None:
    head = f"HTTP/1.1 {status} So\r\ncontent-type: text/html; charset=utf-8\r\nconnection: close\r\n\r\n"
    url = await answer_raw((head + PAGE.format(title)).encode())

    error = await refused(ask, connect(f"{wire}/some-model", base_url=url))

    assert type(error) is kind
    assert reported in str(error)
    assert "127.0.0.1" in str(error)
    assert "#key" not in str(error)
    assert (STEADY.delay(error, 1) is not None) is (status in (429, 502, 503))


async def test_the_target_of_a_redirect_is_reported(answer_raw: AnswerRaw, wire: str, ask: Asker) -> None:
    to = "https://login.example.com/sso?next=x"
    url = await answer_raw(f"HTTP/1.1 302 So\r\nlocation: {to}\r\ncontent-length: 0\r\n\r\n".encode())

    error = await refused(ask, connect(f"{wire}/some-model", base_url=url))

    assert type(error) is RequestRejected
    assert "it redirects to login.example.com" in str(error)


def event(data: str, name: str = "") -> str:
    return f"{name and f'event: {name}'}\ndata: {data}\n\n".lstrip("\n")


INSIDE: Mapping[str, list[tuple[str, type[ProviderError]]]] = {
    "anthropic": [
        ('{"type":"error","error":{"type":"api_error","message":"Internal"}}', NetworkError),
        (
            '{"type":"error","error":{"type":"invalid_request_error","message":"prompt is too long"}}',
            ContextWindowOverflow,
        ),
    ],
    "openai": [
        ('{"type":"error","code":"server_error","message":"An error occurred"}', NetworkError),
        ('{"type":"error","error":{"code":"insufficient_quota","message":"plan and billing"}}', QuotaExhausted),
        (
            '{"type":"response.failed","response":{"error":{"code":"context_length_exceeded","message":"no"}}}',
            ContextWindowOverflow,
        ),
        (
            '{"type":"response.failed","response":{"error":{"code":"upstream","message":"context deadline exceeded"}}}',
            NetworkError,
        ),
    ],
    "openai-chat": [
        ('{"error":{"message":"The server had an error","type":"server_error"}}', NetworkError),
        ('{"error":{"message":"context deadline exceeded"}}', NetworkError),
        ('{"error":{"code":502,"message":"Provider disconnected"},"choices":[]}', NetworkError),
        ('{"error":{"code":"429","message":"slow down"}}', ModelThrottled),
        (
            '{"error":{"message":"bad","type":"invalid_request_error","code":"tool_use_failed","failed_generation":""}}',
            InvalidReply,
        ),
        (
            '{"error":{"message":"This model\'s maximum context length is 9","type":"BadRequestError"}}',
            ContextWindowOverflow,
        ),
        ('{"object":"error","message":"bad field","type":"invalid_request_error"}', RequestRejected),
    ],
    "gemini": [('{"error":{"code":504,"status":"DEADLINE_EXCEEDED","message":"late"}}', NetworkError)],
}
CASES = [(wire, said, kind) for wire, cases in INSIDE.items() for said, kind in cases]


@pytest.mark.parametrize(("wire", "said", "kind"), CASES)
@pytest.mark.parametrize("media_type", ["text/event-stream", "application/json"])
async def test_an_error_of_status_200_is_understood_in_a_stream_and_in_place_of_one(
    serve: Serve, model_at: ModelAt, ask: Asker, *, wire: str, said: str, kind: type[ProviderError], media_type: str
) -> None:
    body = event(said, "error" if wire == "anthropic" else "") if media_type == "text/event-stream" else said

    error = await refused(ask, model_at(serve([Raw(body.encode(), content_type=media_type)]), wire))

    assert type(error) is kind
    assert (STEADY.delay(error, 1) is not None) is kind.retryable


async def test_a_malformed_reply_is_retried_and_finally_reported(serve: Serve, model_at: ModelAt) -> None:
    body = {
        "error": {"message": "Failed to call a function.", "type": "invalid_request_error", "code": "tool_use_failed"}
    }
    fixed, never = serve([Failure(400, body), Reply("Done.")]), serve([Failure(400, body)] * 9)

    good = await Agent(model_at(fixed, "groq"), options=AgentOptions(retry=AT_ONCE)).prompt("Go")
    bad = await Agent(model_at(never, "groq"), options=AgentOptions(retry=AT_ONCE)).prompt("Go")

    assert (good.text, len(fixed.requests)) == ("Done.", 2)
    assert "the model produced an invalid reply" in (bad.error or "")
    assert len(never.requests) == 1 + AT_ONCE.max_retries
