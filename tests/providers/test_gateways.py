"""A vendor's preset at another address keeps the vendor's dialect; only `openai-chat` is generic."""

from __future__ import annotations

import pytest
from fakes.asking import Asker, Serve
from fakes.model_server import Failure, Reply

from harness.messages import AssistantMessage, ModelMessage, Text, ToolCall, ToolResult, user
from harness.ports.provider import Model, ModelInfo, Request, StaticModelInfo
from providers import connect


async def test_mistral_behind_a_gateway_gets_no_field_that_it_refuses(serve: Serve, ask: Asker) -> None:
    server = serve(
        lambda body: Failure(422, "extra inputs are not permitted") if "stream_options" in body else Reply("Hi")
    )
    model = connect("mistral/devstral-medium", base_url=server.openai_url)
    call = AssistantMessage((ToolCall("a-call-with-a-long-id", "look", {}),), "other", "m")
    history: tuple[ModelMessage, ...] = (
        user("Go"), call, ToolResult("a-call-with-a-long-id", "look", (Text("seen"),)), user("And?")
    )  # fmt: skip

    await ask(model, *history)
    await model.provider.close()

    [request] = server.requests
    roles = [message["role"] for message in request.body["messages"]]
    assert roles[-4:] == ["assistant", "tool", "assistant", "user"]
    assert len(request.body["messages"][-3]["tool_call_id"]) == 9


async def test_a_gateway_gets_no_session_id(serve: Serve) -> None:
    server = serve([Reply("Hi"), Reply("Hi")])

    for name in ("openrouter/anthropic/claude-sonnet-5.5", "fireworks/some-model"):
        model = connect(name, base_url=server.openai_url)
        request = Request(model.spec, "", (user("Hi"),), session_id="session-1")
        assert [delta async for delta in model.provider.stream(request)]
        await model.provider.close()

    assert "session-1" not in str([(request.headers, request.body) for request in server.requests])


@pytest.mark.parametrize(
    ("name", "supported"),
    [
        ("openai-chat/qwen3", False),
        ("mistral/devstral-medium", False),
        ("mistral/mistral-medium-latest", True),
        ("openrouter/anything", True),
        ("openai/gpt-4o", False),
        ("openai/gpt-5.6-terra", True),
        ("gemini/gemini-1.5-pro", False),
        ("gemini/gemini-3.8-flash", True),
        ("bedrock/amazon.titan-text", False),
        ("anthropic/claude-sonnet-5-5", True),
    ],
)
def test_model_reports_supported_thinking_levels(name: str, supported: bool) -> None:
    model = connect(name, base_url="http://127.0.0.1:1/v1")

    assert model.supports_thinking("high") is supported
    assert model.supports_thinking("off")


def test_model_without_thinking_supports_no_level() -> None:
    model = connect("anthropic/claude-sonnet-5-5", base_url="http://127.0.0.1:1")
    known = Model(model.provider, model.spec, StaticModelInfo(ModelInfo(thinking=False)))

    assert not known.supports_thinking("high")


async def test_model_that_thinks_only_without_tools_supports_levels_without_tools(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-test-12345678")
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)

    model = connect("openai-chat/gpt-5.6-terra")

    assert [model.supports_thinking("high", with_tools=each) for each in (True, False)] == [False, True]
