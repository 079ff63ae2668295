from __future__ import annotations

import pytest
from fakes.asking import Asker, ModelAt, Serve
from fakes.model_server import Failure, ModelServer, Raw, Reply
from fakes.simple_tools import SimpleTool

from harness.agent.agent import Agent
from harness.deltas import Done
from harness.errors import (
    AuthenticationFailed,
    ContextWindowOverflow,
    ModelNotFound,
    ModelThrottled,
    ProviderError,
    QuotaExhausted,
    RequestRejected,
)
from harness.messages import AssistantMessage, JsonObject, ModelSpec, Text, ToolCall, ToolResult, user
from harness.ports.provider import Model, OutputSchema, Request
from providers import connect, list_models
from providers.gemini.encode import FOREIGN_CALL

KEY = "AIza-very-secret-0123456789"
QUOTA = "You exceeded your current quota, please check your plan and billing details."


@pytest.fixture(autouse=True)
def key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GEMINI_API_KEY", KEY)
    monkeypatch.setenv("GOOGLE_API_KEY", "AIza-another")


def said(status: int, message: str, *details: JsonObject) -> Failure:
    return Failure(status, {"error": {"code": status, "message": message, "status": "X", "details": [*details]}})


def asking(model: Model, **more: object) -> Request:
    return Request(model.spec, "Be brief.", (user("Go"),), **more)


async def ask_with(model: Model, request: Request) -> list[object]:
    return [delta async for delta in model.provider.stream(request)]


async def test_a_request_goes_to_its_model_with_the_key_in_a_header_alone(
    serve: Serve, model_at: ModelAt, ask: Asker
) -> None:
    server = serve([Reply("Hi")])

    await ask(model_at(server, "gemini"))

    asked = server.requests[0]
    assert asked.path == "/v1beta/models/some-model:streamGenerateContent?alt=sse"
    assert asked.headers["x-goog-api-key"] == KEY
    assert "authorization" not in asked.headers
    assert KEY not in asked.path + str(asked.body)


@pytest.mark.parametrize("suffix", ["", "/", "/v1beta", "/v1"])
async def test_a_base_url_may_have_the_version_or_not(serve: Serve, ask: Asker, suffix: str) -> None:
    server = serve([Reply("Hi")])
    model = connect("gemini/tunedModels/a b", base_url=server.url + suffix)

    await ask(model)
    await model.provider.close()

    assert server.requests[0].path == "/v1beta/tunedModels/a%20b:streamGenerateContent?alt=sse"


async def test_a_whole_run_with_a_tool_sends_back_what_the_model_signed(serve: Serve) -> None:
    look = Reply("Looking.", thinking="Hm", signature="c2ln", calls=[("look", {"at": "a"}), ("look", {"at": "b"})])
    server = serve([look, Reply("Both are fine.", thinking="So", signature="ZW5k"), Reply("Yes.")])
    model = connect("gemini/gemini-3.8-flash", base_url=server.url, thinking="high")
    agent = Agent(model, [SimpleTool("look")])
    names: list[str] = []
    agent.subscribe(lambda event: names.append(type(event).__name__))

    first = await agent.prompt("Look at both")
    second = await agent.prompt("Sure?")
    await model.provider.close()

    assert (first.text, second.text) == ("Both are fine.", "Yes.")
    bodies = [request.body for request in server.requests]
    assert [part.get("thoughtSignature") for part in bodies[1]["contents"][1]["parts"]] == [None, "c2ln", None]
    answers = [part["functionResponse"] for part in bodies[1]["contents"][2]["parts"]]
    assert [(answer["id"], answer["name"]) for answer in answers] == [("fc00010", "look"), ("fc00011", "look")]
    assert bodies[2]["contents"][3]["parts"] == [{"text": "Both are fine.", "thoughtSignature": "ZW5k"}]
    assert bodies[2]["contents"][:3] == bodies[1]["contents"]
    turn = ["RequestStart", "MessageStart", "MessageEnd", "UsageUpdate"]
    called = [
        "ToolCallsReceived",
        *(["ToolExecutionStart", "ToolExecutionEnd"] * 2),
        *(["MessageStart", "MessageEnd"] * 2),
        "TurnEnd",
    ]
    begun = ["AgentStart", "TurnStart", "MessageStart", "MessageEnd"]
    assert [name for name in names if name != "MessageUpdate"] == [
        *(*begun, *turn, *called, "TurnStart", *turn, "TurnEnd", "AgentEnd"),
        *(*begun, *turn, "TurnEnd", "AgentEnd"),
    ]


async def test_the_ids_of_calls_are_unique_in_a_session_though_the_service_repeats_them(serve: Serve) -> None:
    call = b'{"functionCall": {"name": "look", "args": {}, "id": "1"}}'
    event = b'data: {"candidates": [{"content": {"parts": [%s]}, "finishReason": "STOP"}], "usageMetadata": {}}\n\n'
    server = serve([Raw(event % call), Raw(event % call), Reply("Done.")])
    model = connect("gemini/gemini-2.5-flash", base_url=server.url)
    agent = Agent(model, [SimpleTool("look")])

    await agent.prompt("Look twice")
    await model.provider.close()

    parts = [part for turn in server.requests[-1].body["contents"] for part in turn["parts"]]
    asked = [part["functionCall"]["id"] for part in parts if "functionCall" in part]
    assert len(set(asked)) == 2
    assert [part["functionResponse"]["id"] for part in parts if "functionResponse" in part] == asked


@pytest.mark.parametrize(
    ("refusal", "kind", "reported"),
    [
        (said(400, "API key not valid. Please pass a valid API key."), AuthenticationFailed, "was rejected (400)"),
        (said(403, "Method doesn't allow unregistered callers"), AuthenticationFailed, "was rejected (403)"),
        (said(429, QUOTA, {"retryDelay": "31s"}), ModelThrottled, "too many requests"),
        (said(429, QUOTA, {"quotaId": "RequestsPerDay"}, {"retryDelay": "31s"}), QuotaExhausted, "no credit"),
        (said(429, QUOTA), QuotaExhausted, "no credit"),
        (said(400, "The input token count (2) exceeds the maximum number"), ContextWindowOverflow, "context window"),
        (said(400, "User location is not supported for the API use."), RequestRejected, "location is not"),
        (said(404, "models/some-model is not found"), ModelNotFound, "did you mean some-models"),
    ],
)
async def test_each_refusal_has_its_own_error(
    serve: Serve, model_at: ModelAt, refusal: Failure, kind: type[ProviderError], reported: str
) -> None:
    server = serve([refusal])
    server.models = ("some-models", "other")
    model = model_at(server, "gemini")

    with pytest.raises(kind) as caught:
        await ask_with(model, asking(model))

    assert type(caught.value) is kind
    assert reported in str(caught.value)
    assert KEY not in str(caught.value)


async def test_the_wait_stated_in_the_body_is_honoured(serve: Serve, model_at: ModelAt, ask: Asker) -> None:
    server = serve([said(429, QUOTA, {"retryDelay": "31.5s"})])

    with pytest.raises(ModelThrottled) as caught:
        await ask(model_at(server, "gemini"))

    assert caught.value.retry_after == 31.5


async def test_a_list_of_errors_is_read(serve: Serve, model_at: ModelAt, ask: Asker) -> None:
    server = serve([Raw(b'[{"error": {"code": 400, "message": "tools[0] is bad"}}]', content_type="application/json")])

    with pytest.raises(ProviderError, match=r"tools\[0\] is bad"):
        await ask(model_at(server, "gemini"))


async def test_the_models_that_can_answer_are_listed_by_their_short_names(serve: Serve) -> None:
    server = serve([])
    server.models = ("gemini-3.8-flash", "gemini-4-argon")

    assert await list_models("gemini", base_url=server.url) == ["gemini-3.8-flash", "gemini-4-argon"]


@pytest.mark.parametrize(
    ("refusal", "field"),
    [
        ("Thinking level MINIMAL is not supported for this model.", "thinkingConfig"),
        ("Unable to submit request because thinking is not supported by this model.", "thinkingConfig"),
        ("temperature is not supported by this model", "temperature"),
        ("Unknown name 'responseJsonSchema': response_json_schema is not supported", "responseJsonSchema"),
    ],
)
async def test_features_a_model_rejects_are_omitted_for_that_model_only(serve: Serve, refusal: str, field: str) -> None:
    server = serve([Failure(400, refusal), Reply("a"), Reply("b"), Reply("c")])
    model = connect("gemini/gemini-3.8-flash", base_url=server.url)
    answer = OutputSchema("A", {"type": "object", "required": ["a"]})
    asked = asking(model, temperature=0.5, output_schema=answer)
    other = Request(ModelSpec("gemini", "gemini-4-argon"), "", (user("Go"),), temperature=0.5, output_schema=answer)

    for request in (asked, asked, other):
        await ask_with(model, request)
    await model.provider.close()

    sent = [request.body.get("generationConfig", {}) for request in server.requests]
    assert [field in config for config in sent] == [True, False, False, True]


async def test_a_service_that_requires_signatures_gets_them_whatever_its_model_is_called(
    serve: Serve, model_at: ModelAt, ask: Asker
) -> None:
    server = serve([Failure(400, "Function call is missing a thought_signature in functionCall parts."), Reply("Hi")])
    history = (
        user("Go"),
        AssistantMessage((ToolCall("a", "look", {}),), "claude", "anthropic"),
        ToolResult("a", "look", (Text("ok"),)),
    )

    await ask(model_at(server, "gemini"), *history)

    calls = [request.body["contents"][1]["parts"][0].get("thoughtSignature") for request in server.requests]
    assert calls == [None, FOREIGN_CALL]


async def test_a_reply_that_has_started_is_not_retried(serve: Serve, model_at: ModelAt, ask: Asker) -> None:
    begun = b'data: {"candidates": [{"content": {"parts": [{"text": "Hi"}]}}]}\n\n'
    server = serve([Raw(begun + b'data: {"error": {"code": 400, "message": "thinking went wrong"}}\n\n'), Reply("Hi")])

    with pytest.raises(RequestRejected, match="thinking went wrong"):
        await ask(model_at(server, "gemini"))

    assert len(server.requests) == 1


async def test_a_repeated_refusal_is_reported(serve: Serve, model_at: ModelAt, ask: Asker) -> None:
    refusal = Failure(400, "thinking is not supported")
    server = serve([refusal, refusal])

    with pytest.raises(RequestRejected, match="thinking is not supported"):
        await ask(model_at(server, "gemini"))

    assert len(server.requests) == 2


async def test_a_blocked_prompt_ends_the_run_with_its_reason(serve: Serve) -> None:
    server = serve([Raw(b'data: {"promptFeedback": {"blockReason": "PROHIBITED_CONTENT"}, "usageMetadata": {}}\n\n')])
    model = connect("gemini/gemini-3.8-flash", base_url=server.url)

    result = await Agent(model).prompt("Go")
    await model.provider.close()

    assert result.stop_reason == "error"
    assert "the service refused the prompt: the content is prohibited (PROHIBITED_CONTENT)" in str(result.error)


async def test_counts_that_come_by_themselves_at_the_end_are_waited_for(
    serve: Serve, model_at: ModelAt, ask: Asker
) -> None:
    last = b'data: {"candidates": [{"content": {"parts": [{"text": "Hi"}]}, "finishReason": "STOP"}]}\n\n'
    server: ModelServer = serve([Raw(last + b'data: {"usageMetadata": {"promptTokenCount": 7}}\n\n')])

    deltas = await ask(model_at(server, "gemini"))

    done = deltas[-1]
    assert isinstance(done, Done)
    assert (done.stop_reason, done.usage.input) == ("stop", 7)
