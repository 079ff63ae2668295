from __future__ import annotations

import json

import pytest
from fakes.judges import accepted_by_openai
from msgspec.structs import replace

from harness.messages import (
    AssistantMessage,
    Image,
    JsonObject,
    ModelMessage,
    ModelSpec,
    Text,
    Thinking,
    ToolCall,
    ToolResult,
    UserMessage,
    user,
)
from harness.ports.provider import Request, ToolSpec
from harness.thinking_level import ThinkingLevel
from providers.endpoint import Endpoint
from providers.openai_chat.dialect import Dialect, dialect_of
from providers.openai_chat.encode import encode
from providers.preset import presets

TOOLS = (ToolSpec("bash", "Runs.", {"type": "object", "properties": {}}),)
PIXEL = Image("image/png", "iVBORw0KGgo=")
IMAGE: JsonObject = {"type": "image_url", "image_url": {"url": "data:image/png;base64,iVBORw0KGgo="}}
COMMON = Dialect()


def dialect(preset: str) -> Dialect:
    return dialect_of(Endpoint(presets()[preset], presets()[preset].base_url))


OPENAI, OPENROUTER, LMSTUDIO = dialect("openai-chat"), dialect("openrouter"), dialect("lmstudio")


def request_of(*messages: ModelMessage, model: str = "m", thinking: ThinkingLevel = "off") -> Request:
    return Request(ModelSpec("p", model, thinking), "Be brief.", messages or (user("Go"),), TOOLS)


def messages_of(*messages: ModelMessage, dialect: Dialect = COMMON, model: str = "m") -> list[JsonObject]:
    body = encode(request_of(*messages, model=model), dialect)
    assert accepted_by_openai(body)
    return body["messages"][1:]


def reply(*content: Text | Thinking | ToolCall) -> AssistantMessage:
    return AssistantMessage(content, model="m", provider="p")


def call(call_id: str, **arguments: str) -> ToolCall:
    return ToolCall(call_id, "bash", dict(arguments))


def test_a_turn_with_parallel_calls_and_a_failure() -> None:
    messages = messages_of(
        user("Go"),
        reply(Text("Yes"), call("a", command="lß"), call("b")),
        ToolResult("a", "bash", (Text("fine"),)),
        ToolResult("b", "bash", (Text("no such file"),), is_error=True),
    )

    assert messages == [
        {"role": "user", "content": "Go"},
        {
            "role": "assistant",
            "content": "Yes",
            "tool_calls": [
                {"id": "a", "type": "function", "function": {"name": "bash", "arguments": '{"command": "lß"}'}},
                {"id": "b", "type": "function", "function": {"name": "bash", "arguments": "{}"}},
            ],
        },
        {"role": "tool", "tool_call_id": "a", "content": "fine"},
        {"role": "tool", "tool_call_id": "b", "content": "Error: no such file"},
    ]


@pytest.mark.parametrize(("spoken", "content"), [(OPENAI, None), (LMSTUDIO, "")])
def test_calls_without_text_have_the_content_the_server_wants(spoken: Dialect, content: str | None) -> None:
    messages = messages_of(user("Go"), reply(call("a")), ToolResult("a", "bash", ()), dialect=spoken)

    assert messages[1]["content"] == content
    assert messages[2]["content"] == "(no output)"


def test_images_of_results_follow_the_last_result() -> None:
    messages = messages_of(
        user("Go"),
        reply(call("a"), call("b")),
        ToolResult("a", "bash", (Text("see"), PIXEL)),
        ToolResult("b", "bash", (Text("ok"),)),
        UserMessage((Text("And"), PIXEL)),
    )

    assert [message["role"] for message in messages] == ["user", "assistant", "tool", "tool", "user", "user"]
    assert messages[4]["content"] == [{"type": "text", "text": "Images from the tool results above:"}, IMAGE]
    assert messages[5]["content"] == [{"type": "text", "text": "And"}, IMAGE]


def test_empty_turns_are_left_out() -> None:
    assert messages_of(user("Go"), reply(Text("")), reply(Thinking("Hm")), user(" ")) == [
        {"role": "user", "content": "Go"}
    ]


@pytest.mark.parametrize(
    ("signature", "field"),
    [('"reasoning_content"', {"reasoning_content": "Hm"}), ('[{"type": "x"}]', {"reasoning_details": [{"type": "x"}]})],
)
def test_thinking_with_calls_is_sent_back_unchanged(signature: str, field: JsonObject) -> None:
    turn = reply(Thinking("Hm", signature), call("a"))
    body = encode(request_of(user("Go"), turn, ToolResult("a", "bash", ())), COMMON)

    assert field.items() <= body["messages"][2].items()


@pytest.mark.parametrize(
    "turn",
    [
        reply(Thinking("Hm", "EqoBCkgIARABGAIiQ"), call("a")),
        replace(reply(Thinking("Hm", '"reasoning"'), call("a")), model="other"),
    ],
)
def test_thinking_of_another_model_stays_here(turn: AssistantMessage) -> None:
    messages = messages_of(user("Go"), turn, ToolResult("a", "bash", ()))

    assert set(messages[1]) == {"role", "content", "tool_calls"}


@pytest.mark.parametrize(
    ("model", "level", "effort"),
    [
        ("gpt-4o", "high", None),
        ("o3", "off", "low"),
        ("o4-mini", "extra-high", "high"),
        ("gpt-5", "off", "minimal"),
        ("gpt-5-mini", "high", "high"),
        ("gpt-5.1", "high", "high"),
        ("gpt-5.1", "off", "none"),
        ("gpt-5.6-terra", "high", "none"),
        ("gpt-6-sol", "off", "none"),
    ],
)
def test_openai_models_get_an_effort_they_accept_together_with_tools(
    model: str, level: ThinkingLevel, effort: str | None
) -> None:
    body = encode(request_of(model=model, thinking=level), OPENAI)

    assert accepted_by_openai(body)
    assert body.get("reasoning_effort") == effort
    assert body["messages"][0]["role"] == "developer"


def test_openrouter_gets_its_own_thinking_parameters() -> None:
    assert encode(request_of(thinking="high"), OPENROUTER)["reasoning"] == {"effort": "high"}
    assert "reasoning" not in encode(request_of(), OPENROUTER)


def test_claude_behind_openrouter_gets_cache_marks() -> None:
    body = encode(request_of(user("1"), reply(Text("a")), user("2"), model="anthropic/claude-sonnet-5.5"), OPENROUTER)

    assert accepted_by_openai(json.loads(json.dumps(body).replace(', "cache_control": {"type": "ephemeral"}', "")))
    assert str(body["messages"]).count("cache_control") == 3


def test_limits_and_temperature_are_named_as_the_server_names_them() -> None:
    request = replace(request_of(model="gpt-5.1"), max_tokens=50, temperature=0.1, session_id="s")

    ours, common = encode(request, OPENAI), encode(request, COMMON)

    assert accepted_by_openai(ours)
    assert (ours["max_completion_tokens"], common["max_tokens"]) == (50, 50)
    assert ("temperature" in ours, common["temperature"]) == (False, 0.1)
    assert (ours["prompt_cache_key"], "prompt_cache_key" in common) == ("s", False)


def test_fork_is_routed_by_the_key_of_the_original() -> None:
    request = replace(request_of(model="gpt-5.1"), session_id="fork", cache_key="original")

    assert encode(request, OPENAI)["prompt_cache_key"] == "original"


def test_another_server_behind_the_generic_preset_gets_the_common_dialect() -> None:
    spoken = dialect_of(Endpoint(presets()["openai-chat"], "http://127.0.0.1:9/v1"))

    assert spoken == Dialect(replace(COMMON.preset, tool_call_content="empty"))


def test_ids_longer_than_the_service_takes_are_shortened_alike() -> None:
    long = "call_" + "x" * 60

    messages = messages_of(user("Go"), reply(call(long)), ToolResult(long, "bash", ()))

    sent = messages[1]["tool_calls"][0]["id"]
    assert len(str(sent)) <= 40
    assert messages[2]["tool_call_id"] == sent
