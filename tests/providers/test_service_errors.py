from __future__ import annotations

import logging
import traceback
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

import pytest
from fakes import anthropic_wire, bedrock_wire, gemini_wire, ollama_wire, openai_wire, proxy_wire, responses_wire
from fakes.asking import AnswerRaw, Asker, ModelAt, Serve
from fakes.model_server import Cut, Failure, Raw, Reply
from fakes.refusals import KEY, REFUSALS, WITHIN
from fakes.simple_tools import SimpleTool

from harness.agent.agent import Agent
from harness.agent.options import AgentOptions
from harness.agent.retry import RetryPolicy
from harness.errors import ContextWindowOverflow, ModelThrottled, NetworkError, ProviderError
from harness.ports.provider import Model
from providers import connect, presets

STEADY = RetryPolicy(random=lambda: 0.5)
CASES = [(wire, case) for wire, cases in REFUSALS.items() for case in cases]
WORTH_ANOTHER_TRY = ("rate", "failure", "overload")
EVENTS = {
    "anthropic": anthropic_wire,
    "openai-chat": openai_wire,
    "openai": responses_wire,
    "gemini": gemini_wire,
    "vertex": gemini_wire,
    "ollama": ollama_wire,
    "bedrock": bedrock_wire,
    "proxy": proxy_wire,
}
LAST_WORDS = {"anthropic": 2, "openai-chat": 3, "bedrock": 2}
"""Events at the end of a reply without which it is not complete, where they are more than one."""


@pytest.fixture(autouse=True)
def keys(monkeypatch: pytest.MonkeyPatch) -> None:
    for variable in (
        *("ANTHROPIC_API_KEY", "OPENAI_API_KEY", "OLLAMA_API_KEY", "GEMINI_API_KEY", "LLM_API_KEY"),
        *("AWS_BEARER_TOKEN_BEDROCK", "GOOGLE_OAUTH_ACCESS_TOKEN"),
    ):
        monkeypatch.setenv(variable, KEY)
    monkeypatch.setenv("GOOGLE_CLOUD_PROJECT", "my-project")


@pytest.fixture(params=REFUSALS)
def wire(request: pytest.FixtureRequest) -> str:
    return request.param


async def refused(ask: Asker, model: Model) -> ProviderError:
    with pytest.raises(ProviderError) as caught:
        await ask(model)
    return caught.value


def assert_fit_to_be_shown(error: ProviderError, model: Model, caplog: pytest.LogCaptureFixture) -> None:
    """One readable line, and no key in it nor anywhere else."""
    sentence = str(error)
    assert sentence.isprintable()
    assert 20 < len(sentence) < 700
    assert presets()[model.spec.provider].label in sentence
    assert not [mark for mark in ("{", "}", "<html", "Error(", "None") if mark in sentence]
    everywhere = [sentence, repr(error), repr(model), *traceback.format_exception(error), caplog.text]
    assert [place for place in everywhere if KEY in place] == []


@pytest.mark.parametrize("case", CASES, ids="-".join)
async def test_each_refusal_of_each_service_is_understood(
    serve: Serve, model_at: ModelAt, ask: Asker, caplog: pytest.LogCaptureFixture, case: tuple[str, str]
) -> None:
    caplog.set_level(logging.DEBUG)
    wire, what = case
    refusal = REFUSALS[wire][what]
    server = serve([Failure(refusal.status, refusal.body)])
    model = model_at(server, wire)

    error = await refused(ask, model)

    assert type(error) is refusal.kind
    assert error.status == refusal.status
    assert (STEADY.delay(error, 1) is not None) is (what in WORTH_ANOTHER_TRY)
    assert_fit_to_be_shown(error, model, caplog)
    assert len(server.requests) == 1


async def test_a_wait_in_seconds_or_until_a_date_is_kept(
    serve: Serve, wire: str, model_at: ModelAt, ask: Asker
) -> None:
    date = format_datetime(datetime.now(UTC) + timedelta(seconds=60), usegmt=True)
    body = REFUSALS[wire]["rate"].body
    server = serve([Failure(429, body, {"Retry-After": wait}) for wait in ("7", date, "3600")])
    model = model_at(server, wire)

    seconds, until, too_long = [await refused(ask, model) for _ in range(3)]

    assert {type(error) for error in (seconds, until, too_long)} == {ModelThrottled}
    assert STEADY.delay(seconds, 1) == 7
    assert STEADY.delay(until, 1) == pytest.approx(60, abs=5)
    assert STEADY.delay(too_long, 1) is None


async def test_a_request_that_is_too_large_is_too_long(
    serve: Serve, wire: str, model_at: ModelAt, ask: Asker, caplog: pytest.LogCaptureFixture
) -> None:
    model = model_at(serve([Failure(413, "the request is too large")]), wire)

    error = await refused(ask, model)

    assert type(error) is ContextWindowOverflow
    assert_fit_to_be_shown(error, model, caplog)


@pytest.mark.parametrize("body", [b"<html><head><title>502 Bad Gateway</title></head></html>", b""])
async def test_a_gateway_error_in_its_own_format_is_retryable(
    answer_raw: AnswerRaw, wire: str, ask: Asker, caplog: pytest.LogCaptureFixture, body: bytes
) -> None:
    url = await answer_raw(b"HTTP/1.1 502 Bad\r\ncontent-type: text/html\r\nconnection: close\r\n\r\n" + body)
    model = connect(f"{wire}/some-model", base_url=url)

    error = await refused(ask, model)
    await model.provider.close()

    assert type(error) is NetworkError
    assert STEADY.delay(error, 1) == pytest.approx(1)
    assert ("502 Bad Gateway" if body else "no reason given") in str(error)
    assert_fit_to_be_shown(error, model, caplog)


async def test_an_error_inside_a_stream_is_understood(
    serve: Serve, wire: str, model_at: ModelAt, ask: Asker, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    body, kind = WITHIN[wire]
    content_type = getattr(EVENTS[wire], "CONTENT_TYPE", "text/event-stream")
    model = model_at(serve([Raw(body, content_type=content_type)]), wire)

    error = await refused(ask, model)

    assert type(error) is kind
    assert STEADY.delay(error, 1) == pytest.approx(1)
    assert_fit_to_be_shown(error, model, caplog)


async def test_a_partial_reply_is_retried_and_its_calls_never_run(serve: Serve, wire: str, model_at: ModelAt) -> None:
    calling = Reply("I look.", calls=[("look", {"at": "a long place " * 20}), ("look", {})])
    count = len([*EVENTS[wire].events(calling, "some-model", 1)])
    complete = count - LAST_WORDS.get(wire, 1)
    script = [*(Cut(calling, after_events=kept, clean=True) for kept in (complete, complete - 1, 1)), Reply("Done.")]
    server = serve(script)
    tool = SimpleTool("look")
    policy = RetryPolicy(max_retries=3, initial=0, max_delay=0)
    agent = Agent(model_at(server, wire), [tool], options=AgentOptions(retry=policy))

    result = await agent.prompt("Go")

    assert (tool.ran, result.text, len(server.requests)) == ([], "Done.", 4)
    assert [type(message).__name__ for message in agent.history] == ["UserMessage", "AssistantMessage"]
