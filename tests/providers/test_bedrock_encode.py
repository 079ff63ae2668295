from __future__ import annotations

import json
from typing import Any

import pytest
from fakes.bedrock_judge import accepted_by_bedrock, path_of

from harness.messages import (
    AssistantContent,
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
from harness.ports.provider import OutputSchema, Request, ToolSpec
from harness.thinking_level import ThinkingLevel
from providers.bedrock.encode import SCHEMA, TEMPERATURE, THINKING, encode
from providers.bedrock.provider import path_to
from providers.wire.caching import CACHING

CLAUDE = "eu.anthropic.claude-sonnet-4-5-20250929-v1:0"
NEW_CLAUDE = "global.anthropic.claude-opus-4-6-v1:0"
NOVA = "us.amazon.nova-2-lite-v1:0"
LLAMA = "us.meta.llama4-scout-17b-instruct-v1:0"
POINT: JsonObject = {"cachePoint": {"type": "default"}}
READ = ToolSpec("read_file", "Reads a file.", {"type": "object", "properties": {"path": {"type": "string"}}})
PNG = Image("image/png", "iVBORw0KGgo=")
ANSWER = OutputSchema("Fit for nothing", {"type": "object", "properties": {"a": {"type": "string"}}})


def body_of(*messages: ModelMessage, model: str = LLAMA, level: ThinkingLevel = "off", **more: Any) -> dict[str, Any]:
    without = more.pop("without", ())
    unreadable = more.pop("unreadable", frozenset())
    spec = ModelSpec("bedrock", model, level)
    body = encode(Request(spec, more.pop("system", ""), messages or (user("Hi"),), **more), without, unreadable)
    assert accepted_by_bedrock(body, model)
    return body


def reply(*content: AssistantContent, model: str = LLAMA) -> AssistantMessage:
    return AssistantMessage(content, model=model, provider="bedrock")


def turns(body: dict[str, Any]) -> list[tuple[str, list[Any]]]:
    return [(turn["role"], turn["content"]) for turn in body["messages"]]


def called(call_id: str, name: str = "read_file") -> ToolCall:
    return ToolCall(call_id, name, {"path": "a.py"})


def test_the_simplest_request_contains_no_defaults() -> None:
    assert body_of() == {"messages": [{"role": "user", "content": [{"text": "Hi"}]}]}


def test_each_message_is_in_its_place() -> None:
    body = body_of(system="Be brief.", tools=(READ,), max_tokens=500, temperature=0.5)

    assert body["system"] == [{"text": "Be brief."}]
    spec = {"name": "read_file", "description": "Reads a file.", "inputSchema": {"json": READ.parameters}}
    assert body["toolConfig"] == {"tools": [{"toolSpec": spec}]}
    assert body["inferenceConfig"] == {"maxTokens": 500, "temperature": 0.5}


def test_a_tool_without_description_and_schema_is_valid() -> None:
    tools = body_of(tools=(ToolSpec("look", " ", {}),))["toolConfig"]["tools"]

    assert tools == [{"toolSpec": {"name": "look", "inputSchema": {"json": {"type": "object"}}}}]


def test_results_of_parallel_calls_come_in_order_before_later_messages() -> None:
    body = body_of(
        user("Go"),
        reply(Text("Looking."), called("a"), called("b", "bash")),
        ToolResult("a", "read_file", (Text("x = 1"), PNG)),
        ToolResult("b", "bash", (Text("no"),), is_error=True),
        user("And now?"),
        model=CLAUDE,
    )

    image = {"image": {"format": "png", "source": {"bytes": PNG.data}}}
    assert turns(body)[1] == (
        "assistant",
        [
            {"text": "Looking."},
            {"toolUse": {"toolUseId": "a", "name": "read_file", "input": {"path": "a.py"}}},
            {"toolUse": {"toolUseId": "b", "name": "bash", "input": {"path": "a.py"}}},
        ],
    )
    assert turns(body)[2][1] == [
        {"toolResult": {"toolUseId": "a", "content": [{"text": "x = 1"}, image]}},
        {"toolResult": {"toolUseId": "b", "content": [{"text": "no"}], "status": "error"}},
        {"text": "And now?"},
        POINT,
    ]


def test_images_of_results_follow_them_for_models_that_reject_images_in_results() -> None:
    body = body_of(user("Go"), reply(called("a")), ToolResult("a", "read_file", (PNG,), is_error=True))

    result, words, image = turns(body)[2][1]
    assert result == {"toolResult": {"toolUseId": "a", "content": [{"text": "(no output)"}]}}
    assert words == {"text": "The result of read_file (a) shows:"}
    assert image["image"]["format"] == "png"


def test_an_image_of_a_kind_that_is_not_taken_is_described_in_text() -> None:
    body = body_of(UserMessage((Image("image/bmp", "Qk0="),)))

    assert turns(body)[0][1] == [{"text": "(an image of type image/bmp, which the service does not support)"}]


def test_roles_alternate_starting_with_the_user() -> None:
    body = body_of(reply(Text("a")), reply(Text("b")), user("c"), user("d"), reply(Text(" ")), user("e"))

    assert turns(body) == [
        ("user", [{"text": "Go on."}]),
        ("assistant", [{"text": "a"}, {"text": "b"}]),
        ("user", [{"text": "c"}, {"text": "d"}, {"text": "e"}]),
    ]


def test_a_history_with_calls_has_their_tools_though_none_is_offered() -> None:
    history = (user("Go"), reply(called("a"), called("b")), ToolResult("a", "read_file", (Text("x"),)))

    tools = body_of(*history)["toolConfig"]["tools"]

    assert [tool["toolSpec"]["name"] for tool in tools] == ["read_file"]
    assert "do not call" in tools[0]["toolSpec"]["description"]


@pytest.mark.parametrize("call_id", ["call|fc_1/2", "x" * 65, "ü", ""])
def test_ids_of_other_vendors_are_made_to_fit_and_still_match(call_id: str) -> None:
    body = body_of(user("Go"), reply(called(call_id, "mcp.tool")), ToolResult(call_id, "mcp.tool", (Text("x"),)))

    use, result = turns(body)[1][1][0]["toolUse"], turns(body)[2][1][0]["toolResult"]
    assert use["toolUseId"] == result["toolUseId"]
    assert use["name"] == body["toolConfig"]["tools"][0]["toolSpec"]["name"]


def test_signed_thinking_goes_back_to_its_own_model_alone() -> None:
    thought = (Thinking("Hm", signature="c2ln"), Thinking("", redacted="ZW5j"), Thinking("unsigned"), Text("Yes."))
    own, foreign = reply(*thought, model=CLAUDE), reply(*thought, model=NEW_CLAUDE)

    kept = turns(body_of(user("Go"), own, model=CLAUDE))[1][1]

    assert kept == [
        {"reasoningContent": {"reasoningText": {"text": "Hm", "signature": "c2ln"}}},
        {"reasoningContent": {"redactedContent": "ZW5j"}},
        {"text": "Yes."},
    ]
    assert turns(body_of(user("Go"), foreign, model=CLAUDE))[1][1] == [{"text": "Yes."}]
    assert turns(body_of(user("Go"), own, model=CLAUDE, unreadable={own.id}))[1][1] == [{"text": "Yes."}]


@pytest.mark.parametrize(
    ("model", "level", "fields", "config"),
    [
        (CLAUDE, "off", None, {"maxTokens": 16_384, "temperature": 1.0}),
        (CLAUDE, "high", {"thinking": {"type": "enabled", "budget_tokens": 10_000}}, {"maxTokens": 16_384}),
        (
            NEW_CLAUDE,
            "medium",
            {"thinking": {"type": "adaptive", "display": "summarized"}, "output_config": {"effort": "medium"}},
            {"maxTokens": 32_000},
        ),
        ("anthropic.claude-3-haiku-20240307-v1:0", "high", None, {"temperature": 1.0}),
        (NOVA, "off", None, {"temperature": 1.0}),
        (NOVA, "low", {"reasoningConfig": {"type": "enabled", "maxReasoningEffort": "low"}}, {"temperature": 1.0}),
        (NOVA, "extra-high", {"reasoningConfig": {"type": "enabled", "maxReasoningEffort": "high"}}, None),
        ("us.amazon.nova-pro-v1:0", "high", None, {"temperature": 1.0}),
        ("openai.gpt-oss-120b-1:0", "medium", {"reasoning_effort": "medium"}, {"temperature": 1.0}),
        (LLAMA, "high", None, {"temperature": 1.0}),
    ],
)
def test_each_family_gets_its_own_thinking_parameters(
    model: str, level: ThinkingLevel, fields: JsonObject | None, config: JsonObject | None
) -> None:
    body = body_of(model=model, level=level, temperature=1.5)

    assert body.get("additionalModelRequestFields") == fields
    assert body.get("inferenceConfig") == config


def test_a_limit_below_the_budget_is_for_what_comes_after_thinking() -> None:
    body = body_of(model=CLAUDE, level="low", max_tokens=1000)

    assert body["inferenceConfig"]["maxTokens"] == 1000 + 2048


def test_claude_caches_tools_system_and_the_last_two_prompts() -> None:
    body = body_of(
        user("a"), reply(Text("b")), user("c"), reply(Text("d")), user("e"), model=CLAUDE, system="S", tools=(READ,)
    )

    assert body["system"][-1] == body["toolConfig"]["tools"][-1] == POINT
    assert [POINT in content for _, content in turns(body)] == [False, False, True, False, True]
    assert str(body).count("cachePoint") == 4


def test_nova_caches_no_tools_and_others_cache_nothing() -> None:
    nova, other = (body_of(model=model, system="S", tools=(READ,)) for model in (NOVA, LLAMA))

    assert nova["system"][-1] == POINT
    assert POINT not in nova["toolConfig"]["tools"]
    assert "cachePoint" not in str(other)


def test_fields_a_model_does_not_support_are_omitted() -> None:
    without = {CACHING, THINKING, TEMPERATURE, SCHEMA}

    body = body_of(model=CLAUDE, level="high", system="S", temperature=0.1, output_schema=ANSWER, without=without)

    assert body["inferenceConfig"] == {"maxTokens": 16_384}
    assert not {"additionalModelRequestFields", "outputConfig"} & body.keys()
    assert "cachePoint" not in str(body)
    assert "JSON Schema" in str(body["system"])


def test_structured_output_is_enforced_by_the_service_or_described_in_the_prompt() -> None:
    held = body_of(model=CLAUDE, output_schema=ANSWER)
    reported = body_of(model=CLAUDE, output_schema=OutputSchema("M", {"type": "object", "additionalProperties": True}))

    form = held["outputConfig"]["textFormat"]["structure"]["jsonSchema"]
    assert json.loads(form["schema"])["additionalProperties"] is False
    assert "system" not in held
    assert "outputConfig" not in reported
    assert "JSON Schema" in str(reported["system"])


@pytest.mark.parametrize(
    "model_id",
    [
        CLAUDE,
        "some.model",
        "arn:aws:bedrock:eu-west-1:123456789012:application-inference-profile/a1b2c3",
        "arn:aws:bedrock:us-east-1:123456789012:inference-profile/us.amazon.nova-lite-v1:0",
    ],
)
def test_a_model_is_named_in_the_path_as_the_vendors_own_library_writes_it(model_id: str) -> None:
    assert path_to(model_id) == path_of(model_id)
