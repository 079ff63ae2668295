from __future__ import annotations

from typing import Any

import pytest
from fakes.judges import accepted_by_google

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
from providers.gemini.encode import FOREIGN_CALL, FORMAT, TEMPERATURE, THINKING, UNSIGNED, encode

OLD, NEW = "gemini-2.5-flash", "gemini-3.8-flash"
PATH: JsonObject = {
    "$schema": "http://json-schema.org/draft-07/schema#",
    "properties": {"path": {"$ref": "#/$defs/Path"}},
    "$defs": {"Path": {"type": "string"}},
    "additionalProperties": False,
}
TOOLS = (
    ToolSpec("read_file", "Reads.", PATH),
    ToolSpec("bash", "Runs.", {"type": "object", "properties": {}, "additionalProperties": False}),
)
PIXEL = Image("image/png", "iVBORw0KGgo=")
SEEN = {"inlineData": {"mimeType": "image/png", "data": PIXEL.data}}


def body_of(
    *messages: ModelMessage,
    model: str = NEW,
    thinking: ThinkingLevel = "off",
    without: tuple[str, ...] = (),
    **more: Any,
) -> JsonObject:
    spec = ModelSpec("gemini", model, thinking, more.pop("budgets", None))
    asked = Request(spec, more.pop("system", "Be brief."), messages or (user("Go"),), **{"tools": TOOLS, **more})
    body = encode(asked, without)
    assert accepted_by_google(body)
    return body


def reply(*content: Text | Thinking | ToolCall, model: str = NEW, provider: str = "gemini") -> AssistantMessage:
    return AssistantMessage(content, model=model, provider=provider)


def result(call_id: str, text: str = "ok", **more: Any) -> ToolResult:
    return ToolResult(call_id, "read_file", (Text(text),), **more)


def turns(body: JsonObject) -> list[tuple[str, list[JsonObject]]]:
    return [(turn["role"], turn["parts"]) for turn in body["contents"]]


def answered(call_id: str, name: str, **response: str) -> JsonObject:
    return {"functionResponse": {"id": call_id, "name": name, "response": response}}


def config_of(**more: Any) -> JsonObject:
    return body_of(**more).get("generationConfig", {})


def test_a_plain_request_has_only_required_fields() -> None:
    assert body_of(user("Hi"), model="gemini-2.0-flash", tools=(), system=" ") == {
        "contents": [{"role": "user", "parts": [{"text": "Hi"}]}]
    }


def test_the_system_prompt_and_tools_are_next_to_the_conversation() -> None:
    body = body_of(user("Hi"))

    assert body["systemInstruction"] == {"parts": [{"text": "Be brief."}]}
    assert body["tools"] == [
        {
            "functionDeclarations": [
                {"name": "read_file", "description": "Reads.", "parametersJsonSchema": {"type": "object", **PATH}},
                {"name": "bash", "description": "Runs."},
            ]
        }
    ]


def test_results_of_parallel_calls_come_first_in_one_turn_and_match_by_id_and_name() -> None:
    calls = ToolCall("a", "read_file", {"path": "x"}, signature="c2ln"), ToolCall("b", "bash", {})

    body = body_of(user("Go"), reply(Text("Yes"), *calls), result("a"), user("stop"), result("b", "no", is_error=True))

    assert turns(body) == [
        ("user", [{"text": "Go"}]),
        (
            "model",
            [
                {"text": "Yes"},
                {"functionCall": {"id": "a", "name": "read_file", "args": {"path": "x"}}, "thoughtSignature": "c2ln"},
                {"functionCall": {"id": "b", "name": "bash", "args": {}}},
            ],
        ),
        ("user", [answered("a", "read_file", output="ok"), answered("b", "bash", error="no"), {"text": "stop"}]),
    ]


def test_turns_of_one_side_are_one() -> None:
    body = body_of(user("a"), user("b"), reply(Text("c")), reply(Thinking("hm")), reply(Text("d")), user("e"))

    assert turns(body) == [
        ("user", [{"text": "a"}, {"text": "b"}]),
        ("model", [{"text": "c"}, {"text": "d"}]),
        ("user", [{"text": "e"}]),
    ]


def test_blank_text_is_never_sent_and_an_empty_result_is_labelled() -> None:
    body = body_of(
        UserMessage((Text("  "), Text("Go"))),
        reply(Text(" \n"), ToolCall("a", "bash", {}, signature="c2ln")),
        ToolResult("a", "bash", (Text(""),)),
        reply(Text("")),
    )

    assert [role for role, _ in turns(body)] == ["user", "model", "user"]
    assert turns(body)[0][1] == [{"text": "Go"}]
    assert turns(body)[2][1] == [answered("a", "bash", output="(no output)")]


def test_a_call_of_broken_json_goes_back_without_arguments() -> None:
    body = body_of(user("Go"), reply(ToolCall("a", "bash", {}, '{"command": "rm')), result("a", "bad", is_error=True))

    assert turns(body)[1][1][0]["functionCall"] == {"id": "a", "name": "bash", "args": {}}


def test_signatures_go_back_on_the_same_parts() -> None:
    content = (
        Thinking("Hm", "dGhvdWdodA=="),
        Thinking("a summary"),
        Text("So", "dGV4dA=="),
        Text("", "ZW1wdHk="),
        ToolCall("a", "bash", {}, signature="Y2FsbA=="),
        ToolCall("b", "bash", {}),
    )

    body = body_of(user("Go"), reply(*content), result("a"), result("b"))

    parts = turns(body)[1][1]
    assert [part.get("thoughtSignature") for part in parts] == [
        "dGhvdWdodA==",
        "dGV4dA==",
        "ZW1wdHk=",
        "Y2FsbA==",
        None,
    ]
    assert parts[0] == {"text": "Hm", "thought": True, "thoughtSignature": "dGhvdWdodA=="}
    assert parts[2] == {"text": "", "thoughtSignature": "ZW1wdHk="}


@pytest.mark.parametrize("foreign", [{"model": "gemini-2.5-pro"}, {"provider": "anthropic"}, {"provider": "vertex"}])
def test_signatures_of_another_model_stay_here(foreign: dict[str, str]) -> None:
    said = reply(Thinking("Hm", "c2ln"), Text("Yes", "c2ln"), Text("", "c2ln"), **foreign)

    assert turns(body_of(user("Go"), said, user("On")))[1][1] == [{"text": "Yes"}]


@pytest.mark.parametrize(
    ("model", "without", "marks"),
    [
        (NEW, (), [FOREIGN_CALL, None]),
        ("gemini-4-argon", (), [FOREIGN_CALL, None]),
        ("gemini-flash-latest", (), [FOREIGN_CALL, None]),
        (OLD, (), [None, None]),
        ("of-some-gateway", (), [None, None]),
        ("of-some-gateway", (UNSIGNED,), [FOREIGN_CALL, None]),
    ],
)
def test_the_first_call_of_another_model_is_marked_as_such_where_signatures_are_wanted(
    model: str, without: tuple[str, ...], marks: list[str | None]
) -> None:
    said = reply(Text("Yes"), ToolCall("a", "bash", {}), ToolCall("b", "bash", {}), provider="anthropic")

    body = body_of(user("Go"), said, result("a"), result("b"), model=model, without=without)

    assert [part.get("thoughtSignature") for part in turns(body)[1][1][1:]] == marks


def test_an_image_is_sent_where_it_was() -> None:
    body = body_of(UserMessage((PIXEL, Text("See"))))

    assert turns(body)[0][1] == [SEEN, {"text": "See"}]


def test_an_image_of_a_result_is_part_of_it_for_models_that_see_it_there() -> None:
    shown = ToolResult("a", "bash", (Text("here"), PIXEL))

    body = body_of(user("Go"), reply(ToolCall("a", "bash", {})), shown)

    answer = turns(body)[2][1][0]["functionResponse"]
    assert (answer["response"], answer["parts"]) == ({"output": "here"}, [SEEN])


def test_an_image_of_a_result_is_behind_all_results_for_older_models() -> None:
    calls = reply(ToolCall("a", "bash", {}), ToolCall("b", "bash", {}))

    body = body_of(user("Go"), calls, ToolResult("a", "bash", (PIXEL,)), result("b"), model=OLD)

    assert turns(body)[2][1] == [
        answered("a", "bash", output=""),
        answered("b", "bash", output="ok"),
        {"text": "The result of bash (a) shows:"},
        SEEN,
    ]


def test_ids_and_names_of_other_vendors_are_made_plain_and_still_match() -> None:
    strange, other = "functions.bash:0", "functions_bash_0"

    body = body_of(
        user("Go"),
        reply(ToolCall(strange, "what tool?", {}), ToolCall(other, "9lives", {})),
        result(strange),
        result(other),
    )

    calls = [part["functionCall"] for part in turns(body)[1][1]]
    answers = [part["functionResponse"] for part in turns(body)[2][1]]
    assert [(call["id"], call["name"]) for call in calls] == [(answer["id"], answer["name"]) for answer in answers]
    assert len({call["id"] for call in calls}) == 2
    assert all(call["name"][0].isalpha() or call["name"][0] == "_" for call in calls)


def test_a_long_name_of_a_remote_tool_is_sent_as_it_was_declared() -> None:
    name = "mcp__a_server_with_a_long_name__a_tool_with_a_long_name"

    body = body_of(user("Go"), reply(ToolCall("a", name, {})), ToolResult("a", name, (Text("ok"),)))

    assert turns(body)[1][1][0]["functionCall"]["name"] == name


@pytest.mark.parametrize(
    ("model", "level", "reported"),
    [
        ("gemini-2.5-flash", "off", {"thinkingBudget": 0}),
        ("gemini-2.5-flash-lite", "off", {"thinkingBudget": 0}),
        ("gemini-2.5-pro", "off", {"thinkingBudget": 128}),
        ("gemini-2.5-flash", "low", {"thinkingBudget": 2048, "includeThoughts": True}),
        ("gemini-2.5-flash", "extra-high", {"thinkingBudget": 24_576, "includeThoughts": True}),
        ("gemini-2.5-pro", "extra-high", {"thinkingBudget": 32_768, "includeThoughts": True}),
        ("publishers/google/models/gemini-2.5-pro", "high", {"thinkingBudget": 16_384, "includeThoughts": True}),
        ("gemini-3-flash-preview", "off", {"thinkingLevel": "MINIMAL"}),
        ("gemini-3.1-flash-lite", "minimal", {"thinkingLevel": "MINIMAL", "includeThoughts": True}),
        ("gemini-3.8-flash", "off", {"thinkingLevel": "LOW"}),
        ("gemini-3.8-flash", "medium", {"thinkingLevel": "MEDIUM", "includeThoughts": True}),
        ("gemini-flash-latest", "minimal", {"thinkingLevel": "LOW", "includeThoughts": True}),
        ("gemini-3-pro-preview", "medium", {"thinkingLevel": "HIGH", "includeThoughts": True}),
        ("gemini-3.1-pro-preview", "medium", {"thinkingLevel": "MEDIUM", "includeThoughts": True}),
        ("gemini-3.1-pro-preview", "off", {"thinkingLevel": "LOW"}),
        ("gemini-4-argon", "extra-high", {"thinkingLevel": "HIGH", "includeThoughts": True}),
        ("gemini-2.0-flash", "high", None),
        ("of-some-gateway", "high", None),
    ],
)
def test_each_model_gets_its_own_thinking_parameters(
    model: str, level: ThinkingLevel, reported: JsonObject | None
) -> None:
    assert config_of(model=model, thinking=level).get("thinkingConfig") == reported


@pytest.mark.parametrize(("wanted", "sent"), [(5000, 5000), (1, 512), (99_999, 24_576)])
def test_a_custom_budget_is_limited_to_the_models_maximum(wanted: int, sent: int) -> None:
    config = config_of(model="gemini-2.5-flash-lite", thinking="low", budgets={"low": wanted})

    assert config["thinkingConfig"]["thinkingBudget"] == sent


@pytest.mark.parametrize(("wanted", "sent"), [(1000, 3048), (2048, 4096), (9000, 9000)])
def test_thinking_does_not_reduce_a_small_token_limit(wanted: int, sent: int) -> None:
    assert config_of(model=OLD, thinking="low", max_tokens=wanted)["maxOutputTokens"] == sent


def test_limit_and_temperature_are_sent_if_set() -> None:
    config = config_of(max_tokens=99, temperature=0.0)

    assert (config["maxOutputTokens"], config["temperature"]) == (99, 0.0)
    assert not {"maxOutputTokens", "temperature"} & config_of().keys()


def test_structured_output_is_enforced_together_with_tools() -> None:
    schema: JsonObject = {"type": "object", "properties": {"a": {"type": "string", "pattern": "^x"}}}

    body = body_of(output_schema=OutputSchema("Answer", schema))

    assert body["generationConfig"]["responseMimeType"] == "application/json"
    assert body["generationConfig"]["responseJsonSchema"] == schema
    assert "tools" in body


def test_fields_a_service_does_not_support_are_omitted() -> None:
    asked = OutputSchema("Answer", {"type": "object", "required": ["a"]})

    body = body_of(thinking="high", temperature=0.5, output_schema=asked, without=(THINKING, TEMPERATURE, FORMAT))

    assert "generationConfig" not in body
    assert '"required": ["a"]' in body["systemInstruction"]["parts"][0]["text"]
