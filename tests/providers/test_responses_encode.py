from __future__ import annotations

import json

import pytest
from fakes.judges import accepted_by_responses

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
from harness.ports.provider import OutputSchema, Request, ToolSpec
from harness.thinking_level import ThinkingLevel
from providers.openai_responses.encode import ENCRYPTED, FORMAT, encode

READ = ToolSpec("read_file", "Reads.", {"type": "object", "properties": {"path": {"type": "string"}}})
PICTURE = Image("image/png", "aGVsbG8=")
THOUGHT = {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "c2VjcmV0"}


def body_of(
    *messages: ModelMessage,
    model: str = "gpt-5.6-terra",
    thinking: ThinkingLevel = "off",
    without: tuple[str, ...] = (),
    **fields: object,
) -> JsonObject:
    request = Request(ModelSpec("openai", model, thinking), "Be brief.", messages or (user("Hi"),), **fields)
    body = encode(request, without)
    assert accepted_by_responses(body)
    return body


def reply(*content: Text | Thinking | ToolCall, model: str = "gpt-5.6-terra", provider: str = "openai") -> ModelMessage:
    return AssistantMessage(content, model=model, provider=provider)


def thinking() -> Thinking:
    return Thinking("hm", json.dumps(THOUGHT))


def test_the_service_stores_nothing_and_returns_its_thinking() -> None:
    body = body_of(tools=(READ,), session_id="S", max_tokens=500)

    assert body == {
        "model": "gpt-5.6-terra",
        "instructions": "Be brief.",
        "input": [{"type": "message", "role": "user", "content": [{"type": "input_text", "text": "Hi"}]}],
        "tools": [
            {
                "type": "function",
                "name": "read_file",
                "description": "Reads.",
                "parameters": READ.parameters,
                "strict": False,
            }
        ],
        "max_output_tokens": 500,
        "reasoning": {"effort": "none", "summary": "auto"},
        "include": [ENCRYPTED],
        "prompt_cache_key": "S",
        "store": False,
        "stream": True,
    }


def test_a_whole_turn_goes_back_in_its_order() -> None:
    call = ToolCall("call_1", "read_file", {"path": "ä.py"})
    body = body_of(
        user("look"),
        reply(thinking(), Text("I look."), call),
        ToolResult("call_1", "read_file", (Text("print()"),)),
        reply(Text("Seen.")),
    )

    assert body["input"] == [
        {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "look"}]},
        THOUGHT,
        {"type": "message", "role": "assistant", "content": "I look."},
        {"type": "function_call", "call_id": "call_1", "name": "read_file", "arguments": '{"path": "ä.py"}'},
        {"type": "function_call_output", "call_id": "call_1", "output": "print()"},
        {"type": "message", "role": "assistant", "content": "Seen."},
    ]


@pytest.mark.parametrize(
    "message",
    [
        reply(thinking(), Text("x"), model="gpt-5.1"),
        reply(thinking(), Text("x"), provider="azure"),
        reply(Thinking("hm", "c2lnbmF0dXJl"), Text("x")),
        reply(Thinking("hm", "[1]"), Text("x")),
        reply(Thinking("hm"), Text("x")),
        reply(Text("x"), thinking()),
    ],
)
def test_thinking_the_model_cannot_accept_is_not_sent(message: ModelMessage) -> None:
    body = body_of(user("a"), message, user("b"))

    assert [item["type"] for item in body["input"]] == ["message"] * 3


def test_a_server_that_rejects_encrypted_thinking_gets_none() -> None:
    body = body_of(user("a"), reply(thinking(), Text("x")), user("b"), without=(ENCRYPTED,))

    assert THOUGHT not in body["input"]


def test_images_are_sent_with_text_and_with_results() -> None:
    call = ToolCall("c", "shot", {})
    body = body_of(
        UserMessage((Text("see"), PICTURE)),
        reply(call),
        ToolResult("c", "shot", (Text("a screen"), PICTURE)),
        reply(ToolCall("d", "shot", {})),
        ToolResult("d", "shot", (PICTURE,)),
    )

    shown = {"type": "input_image", "detail": "auto", "image_url": "data:image/png;base64,aGVsbG8="}
    assert body["input"][0]["content"][1] == shown
    assert body["input"][2]["output"] == [{"type": "input_text", "text": "a screen"}, shown]
    assert body["input"][4]["output"] == [shown]


@pytest.mark.parametrize(
    ("text", "is_error", "sent"),
    [("", False, "(no output)"), ("boom", True, "Error: boom"), ("Error: no", True, "Error: no"), ("ok", False, "ok")],
)
def test_a_failure_is_described_in_text(text: str, is_error: bool, sent: str) -> None:
    body = body_of(reply(ToolCall("c", "x", {})), ToolResult("c", "x", (Text(text),), is_error=is_error))

    assert body["input"][1]["output"] == sent


@pytest.mark.parametrize(
    ("model", "thinking", "effort"),
    [
        ("gpt-5.6-terra", "high", "high"),
        ("gpt-5.6-terra", "extra-high", "xhigh"),
        ("gpt-5.6-terra", "minimal", "low"),
        ("gpt-5", "off", "minimal"),
        ("gpt-5", "extra-high", "high"),
        ("gpt-5-pro", "low", "high"),
        ("gpt-5.1", "minimal", "low"),
        ("gpt-5.1", "extra-high", "high"),
        ("gpt-5.5-pro", "off", "medium"),
        ("gpt-6-astra", "off", "low"),
        ("gpt-6.1-sol", "off", "low"),
        ("gpt-6.1-terra", "off", "none"),
        ("o3", "off", "low"),
        ("o4-mini", "extra-high", "high"),
    ],
)
def test_the_level_of_thinking_is_an_effort(model: str, thinking: ThinkingLevel, effort: str) -> None:
    body = body_of(model=model, thinking=thinking, temperature=0.5, tools=(READ,))

    assert body["reasoning"] == {"effort": effort, "summary": "auto"}
    assert "temperature" not in body


@pytest.mark.parametrize("model", ["gpt-4o", "gpt-4.1", "gpt-5-chat-latest", "llama-3"])
def test_a_model_that_does_not_reason_gets_no_effort(model: str) -> None:
    body = body_of(model=model, thinking="high", temperature=0.5)

    assert body.keys() & {"reasoning", "include"} == set()
    assert body["temperature"] == 0.5


def test_ids_and_names_of_others_fit_the_service() -> None:
    call = ToolCall("toolu:1/" + "x" * 60, "my.tool", {})
    body = body_of(reply(call), ToolResult(call.id, "my.tool", (Text("x"),)))

    asked, answered = body["input"]
    assert asked["call_id"] == answered["call_id"]
    assert len(asked["call_id"]) <= 64
    assert asked["name"] == "my_tool_" + asked["name"][8:]


def test_structured_output_is_enforced_or_described_in_the_prompt() -> None:
    schema = OutputSchema("Invoice", {"type": "object", "properties": {}, "additionalProperties": False})

    held = body_of(output_schema=schema)
    reported = body_of(output_schema=schema, without=(FORMAT,))

    assert held["text"]["format"] == {
        "type": "json_schema",
        "name": "Invoice",
        "schema": schema.schema,
        "strict": True,
    }
    assert "text" not in reported
    assert "JSON Schema" in reported["instructions"]


def test_empty_content_is_not_sent() -> None:
    body = body_of(user("a"), reply(Text(" ")), UserMessage((Text(""),)), user("b"), max_tokens=1)

    assert len(body["input"]) == 2
    assert body["max_output_tokens"] == 16
    assert body.keys() & {"tools", "prompt_cache_key"} == set()
