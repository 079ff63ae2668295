from __future__ import annotations

import pytest
from fakes.judges import accepted_by_ollama
from msgspec.structs import replace

from harness.messages import (
    AssistantMessage,
    Image,
    JsonObject,
    JsonValue,
    ModelMessage,
    ModelSpec,
    Text,
    Thinking,
    ToolCall,
    ToolResult,
    UserMessage,
    user,
)
from harness.ports.provider import OutputSchema, Request, ToolSpec
from harness.thinking_level import ThinkingLevel
from providers.ollama.encode import encode
from providers.ollama.model_card import ModelCard, card_of

TOOLS = (ToolSpec("bash", "Runs.", {"type": "object", "properties": {"command": {"type": "string"}}}),)
PIXEL = Image("image/png", "iVBORw0KGgo=")
ABLE = ModelCard(capabilities=frozenset(("completion", "tools", "thinking", "vision")))
BLIND = ModelCard(capabilities=frozenset(("completion", "tools")))
UNKNOWN = ModelCard()


def request_of(*messages: ModelMessage, model: str = "m", thinking: ThinkingLevel = "off") -> Request:
    return Request(ModelSpec("p", model, thinking), "Be brief.", messages or (user("Go"),), TOOLS)


def body_of(request: Request, card: ModelCard = ABLE, keep_alive: str = "") -> JsonObject:
    body = encode(request, card, keep_alive)
    assert accepted_by_ollama(body)
    return body


def messages_of(*messages: ModelMessage, card: ModelCard = ABLE) -> list[JsonObject]:
    return body_of(request_of(*messages), card)["messages"][1:]


def reply(*content: Text | Thinking | ToolCall) -> AssistantMessage:
    return AssistantMessage(content, model="m", provider="p")


def call(call_id: str, **arguments: str) -> ToolCall:
    return ToolCall(call_id, "bash", dict(arguments))


def test_a_turn_with_parallel_calls_and_a_failure() -> None:
    messages = messages_of(
        user("Go"),
        reply(Thinking("Hm"), Text("Yes"), call("a", command="lß"), call("b")),
        ToolResult("a", "bash", (Text("fine"),)),
        ToolResult("b", "bash", (Text("no such file"),), is_error=True),
    )

    assert messages == [
        {"role": "user", "content": "Go"},
        {
            "role": "assistant",
            "content": "Yes",
            "thinking": "Hm",
            "tool_calls": [
                {"id": "a", "function": {"name": "bash", "arguments": {"command": "lß"}}},
                {"id": "b", "function": {"name": "bash", "arguments": {}}},
            ],
        },
        {"role": "tool", "tool_name": "bash", "tool_call_id": "a", "content": "fine"},
        {"role": "tool", "tool_name": "bash", "tool_call_id": "b", "content": "Error: no such file"},
    ]


def test_thinking_of_another_model_stays_here() -> None:
    turn = replace(reply(Thinking("Hm", "sig"), call("a")), model="other")

    assert "thinking" not in messages_of(user("Go"), turn, ToolResult("a", "bash", ()))[1]


def test_empty_turns_are_left_out() -> None:
    assert messages_of(user("Go"), reply(Text("")), reply(Thinking("Hm")), user(" ")) == [
        {"role": "user", "content": "Go"}
    ]


def test_images_of_results_follow_the_last_result() -> None:
    messages = messages_of(
        user("Go"),
        reply(call("a"), call("b")),
        ToolResult("a", "bash", (Text("see"), PIXEL)),
        ToolResult("b", "bash", ()),
        UserMessage((Text("And"), PIXEL)),
    )

    assert [message["role"] for message in messages] == ["user", "assistant", "tool", "tool", "user", "user"]
    assert messages[3]["content"] == "(no output)"
    assert messages[4]["images"] == messages[5]["images"] == ["iVBORw0KGgo="]
    assert messages[5]["content"] == "And"


def test_a_model_without_image_support_is_informed_of_an_omitted_image() -> None:
    message = messages_of(UserMessage((Text("Look"), PIXEL)), card=BLIND)[0]

    assert message == {
        "role": "user",
        "content": "Look\n[image/png, 1 kB: omitted: this model does not support images]",
    }


@pytest.mark.parametrize(
    ("model", "level", "card", "think"),
    [
        ("qwen3", "off", ABLE, False),
        ("qwen3", "low", ABLE, True),
        ("qwen3", "off", UNKNOWN, None),
        ("qwen3", "high", UNKNOWN, True),
        ("llama3", "high", BLIND, None),
        ("gpt-oss:20b", "off", ABLE, "low"),
        ("gpt-oss:20b", "minimal", ABLE, "low"),
        ("gpt-oss:20b", "medium", ABLE, "medium"),
        ("gpt-oss:120b-cloud", "extra-high", UNKNOWN, "high"),
    ],
)
def test_each_model_gets_the_thinking_parameters_it_supports(
    model: str, level: ThinkingLevel, card: ModelCard, think: JsonValue
) -> None:
    assert body_of(request_of(model=model, thinking=level), card).get("think") == think


def test_limits_are_options_and_nothing_is_left_out_in_silence() -> None:
    request = replace(request_of(), max_tokens=50, temperature=0.1)

    body = body_of(request, replace(ABLE, num_ctx=32768), keep_alive="30m")

    assert body["options"] == {"num_ctx": 32768, "num_predict": 50, "temperature": 0.1}
    assert (body["truncate"], body["shift"], body["keep_alive"]) == (False, False, "30m")
    assert {"options", "keep_alive"}.isdisjoint(body_of(request_of()))


def test_structured_output_is_enforced_and_described_and_only_described_with_required_tools() -> None:
    schema: JsonObject = {"type": "object", "properties": {"a": {"type": "string"}}}
    asked = replace(request_of(), output_schema=OutputSchema("A", schema))

    with_tools, without = body_of(asked), body_of(replace(asked, tools=()))

    assert ("format" in with_tools, without["format"]) == (False, schema)
    assert all("JSON Schema" in str(body["messages"][0]["content"]) for body in (with_tools, without))


@pytest.mark.parametrize(
    ("card", "wanted", "loaded", "asked", "window"),
    [
        (ModelCard(131_072), None, None, 32_768, 32_768),
        (ModelCard(8_192), None, None, 8_192, 8_192),
        (ModelCard(), None, None, 32_768, 32_768),
        (ModelCard(131_072), None, 65_536, 65_536, 65_536),
        (ModelCard(131_072), None, 4_096, 32_768, 32_768),
        (ModelCard(131_072), 100_000, 4_096, 100_000, 100_000),
        (ModelCard(8_192), 100_000, None, 8_192, 8_192),
        (ModelCard(131_072, chosen=16_384), None, None, None, 16_384),
        (ModelCard(131_072, chosen=16_384), 20_000, None, 20_000, 20_000),
        (ModelCard(262_144, is_remote=True), 20_000, None, None, 262_144),
    ],
)
def test_the_window_is_the_configured_one_or_a_usable_default(
    card: ModelCard, wanted: int | None, loaded: int | None, asked: int | None, window: int
) -> None:
    settled = card.with_window(wanted, loaded)

    assert (settled.num_ctx, settled.window) == (asked, window)


@pytest.mark.parametrize(
    ("answer", "card"),
    [
        (
            {
                "parameters": 'stop    "<|eot_id|>"\nnum_ctx                        24576',
                "model_info": {"general.architecture": "llama", "llama.context_length": 8192},
                "capabilities": ["completion", "vision"],
            },
            ModelCard(8192, 24576, frozenset(("completion", "vision"))),
        ),
        (
            {"remote_host": "https://ollama.com:443", "model_info": {"gptoss.context_length": 131072}},
            ModelCard(131072, is_remote=True),
        ),
        ({"parameters": "num_ctx 0", "model_info": {"a.context_length": "many"}}, ModelCard()),
        ({"model_info": None, "parameters": None, "capabilities": None}, ModelCard()),
        ({}, ModelCard()),
        ([], ModelCard()),
        (None, ModelCard()),
    ],
)
def test_model_details_of_a_server_are_read(answer: JsonValue, card: ModelCard) -> None:
    assert card_of(answer) == card
