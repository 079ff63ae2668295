from __future__ import annotations

import pytest
from fakes.judges import accepted_by_anthropic

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
from providers.anthropic.encode import encode
from providers.anthropic.thinking import thinking_form

OLD, NEW = "claude-haiku-4-5", "claude-opus-4-8"
TOOLS = (
    ToolSpec("read_file", "Reads.", {"type": "object", "properties": {"path": {"type": "string"}}}),
    ToolSpec("bash", "Runs.", {"type": "object", "properties": {}}),
)
PIXEL = Image("image/png", "iVBORw0KGgo=")
CACHED = {"type": "ephemeral"}


def body_of(*messages: ModelMessage, model: str = OLD, thinking: ThinkingLevel = "off", **more: object) -> JsonObject:
    spec = ModelSpec("anthropic", model, thinking)
    request = Request(spec, more.pop("system", "Be brief."), messages, TOOLS, **more)
    body = encode(request, thinking_form(spec))
    assert accepted_by_anthropic(body)
    return body


def reply(*content: Text | Thinking | ToolCall, model: str = OLD, provider: str = "anthropic") -> AssistantMessage:
    return AssistantMessage(content, model=model, provider=provider)


def result(call_id: str, text: str = "ok", **more: object) -> ToolResult:
    return ToolResult(call_id, "read_file", (Text(text),), **more)


def turns(body: JsonObject) -> list[tuple[str, list[JsonObject]]]:
    return [(turn["role"], turn["content"]) for turn in body["messages"]]


def plain(blocks: list[JsonObject]) -> list[JsonObject]:
    return [{key: value for key, value in block.items() if key != "cache_control"} for block in blocks]


def test_results_of_parallel_calls_and_what_was_typed_meanwhile_are_one_message_results_first() -> None:
    calls = ToolCall("a", "read_file", {"path": "x"}), ToolCall("b", "bash", {})

    body = body_of(user("Go"), reply(Text("Yes"), *calls), result("a"), user("stop"), result("b", "no", is_error=True))

    assert [role for role, _ in turns(body)] == ["user", "assistant", "user"]
    assert plain(turns(body)[2][1]) == [
        {"type": "tool_result", "tool_use_id": "a", "content": [{"type": "text", "text": "ok"}]},
        {"type": "tool_result", "tool_use_id": "b", "content": [{"type": "text", "text": "no"}], "is_error": True},
        {"type": "text", "text": "stop"},
    ]


def test_a_call_of_broken_json_goes_back_without_arguments() -> None:
    call = ToolCall("a", "bash", {}, partial_json='{"command": "rm')

    body = body_of(user("Go"), reply(call), result("a", "not valid", is_error=True))

    assert turns(body)[1][1] == [{"type": "tool_use", "id": "a", "name": "bash", "input": {}}]


def test_blank_text_is_never_sent() -> None:
    body = body_of(
        user("Go"),
        reply(Text(" \n"), ToolCall("a", "bash", {})),
        ToolResult("a", "bash", (Text(""),)),
        UserMessage((Text("  "), Text("Next"))),
        reply(Text("")),
        system="  ",
    )

    assert "system" not in body
    assert [plain(blocks) for _, blocks in turns(body)] == [
        [{"type": "text", "text": "Go"}],
        [{"type": "tool_use", "id": "a", "name": "bash", "input": {}}],
        [{"type": "tool_result", "tool_use_id": "a"}, {"type": "text", "text": "Next"}],
    ]


def test_images_are_sent_where_they_were_also_inside_results() -> None:
    image = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": PIXEL.data}}

    body = body_of(
        UserMessage((PIXEL, Text("See"))), reply(ToolCall("a", "bash", {})), ToolResult("a", "bash", (PIXEL,))
    )

    assert plain(turns(body)[0][1])[0] == image
    assert turns(body)[2][1][0]["content"] == [image]


def test_signed_and_redacted_thinking_goes_back_before_the_call_it_led_to() -> None:
    content = Thinking("Hm", "sig"), Thinking("", redacted="zzz"), Thinking("", "sig2"), ToolCall("a", "bash", {})

    body = body_of(user("Go"), reply(*content), result("a"), thinking="high")

    assert turns(body)[1][1] == [
        {"type": "thinking", "thinking": "Hm", "signature": "sig"},
        {"type": "redacted_thinking", "data": "zzz"},
        {"type": "thinking", "thinking": "", "signature": "sig2"},
        {"type": "tool_use", "id": "a", "name": "bash", "input": {}},
    ]


@pytest.mark.parametrize(
    "foreign",
    [
        reply(Thinking("Hm", "sig"), Text("Yes"), model="claude-opus-5"),
        reply(Thinking("Hm", "sig"), Text("Yes"), provider="openrouter"),
        reply(Thinking("Hm"), Text("Yes")),
    ],
)
def test_thinking_that_is_unsigned_or_of_another_model_stays_here(foreign: AssistantMessage) -> None:
    assert turns(body_of(user("Go"), foreign, user("On")))[1][1] == [{"type": "text", "text": "Yes"}]


def test_the_cache_is_marked_at_four_points_at_most() -> None:
    body = body_of(user("1"), reply(Text("a")), user("2"), reply(Text("b")), user("3"))

    assert str(body).count("cache_control") == 4
    assert body["system"] == [{"type": "text", "text": "Be brief.", "cache_control": CACHED}]
    assert [tool.get("cache_control") for tool in body["tools"]] == [None, CACHED]
    assert [blocks[-1].get("cache_control") for role, blocks in turns(body) if role == "user"] == [None, CACHED, CACHED]


def test_ids_and_names_of_other_vendors_are_made_plain_and_still_match() -> None:
    strange, other = "functions.bash:0", "functions_bash_0"

    body = body_of(
        user("Go"),
        reply(ToolCall(strange, "what tool?", {}), ToolCall(other, "bash", {})),
        result(strange),
        result(other),
    )

    used = [block["id"] for block in turns(body)[1][1]]
    assert used == [block["tool_use_id"] for block in turns(body)[2][1]]
    assert len(set(used)) == 2
    assert all(str(name).replace("_", "").replace("-", "").isalnum() for name in used)


@pytest.mark.parametrize(
    ("level", "budget"),
    [("minimal", 1024), ("low", 2048), ("medium", 5000), ("high", 10_000), ("extra-high", 20_000)],
)
def test_older_models_think_within_a_budget_below_the_reply_limit(level: ThinkingLevel, budget: int) -> None:
    body = body_of(user("Go"), thinking=level, temperature=0.2)

    assert body["thinking"] == {"type": "enabled", "budget_tokens": budget}
    assert body["max_tokens"] > budget
    assert "temperature" not in body


def test_a_small_reply_limit_grows_by_the_budget() -> None:
    assert body_of(user("Go"), thinking="high", max_tokens=500)["max_tokens"] == 10_500


def test_a_custom_budget_is_raised_to_the_minimum() -> None:
    spec = ModelSpec("anthropic", OLD, "low", {"low": 300})

    assert thinking_form(spec).thinking == {"type": "enabled", "budget_tokens": 1024}


@pytest.mark.parametrize(
    ("model", "level", "thinking", "effort"),
    [
        ("claude-sonnet-4-5-20250929", "off", None, None),
        ("claude-sonnet-4-20250514", "low", {"type": "enabled", "budget_tokens": 2048}, None),
        ("claude-3-7-sonnet-20250219", "low", {"type": "enabled", "budget_tokens": 2048}, None),
        ("claude-sonnet-4-6", "off", None, None),
        ("claude-sonnet-4-6", "extra-high", "adaptive", "high"),
        ("claude-opus-4-8", "extra-high", "adaptive", "xhigh"),
        ("claude-opus-5", "off", {"type": "disabled"}, None),
        ("claude-haiku-5-5", "off", {"type": "disabled"}, None),
        ("claude-sonnet-5-5", "off", {"type": "between_tools"}, None),
        ("claude-sonnet-5-5", "medium", "adaptive", "medium"),
        ("claude-opus-5-5", "off", "adaptive", None),
        ("claude-fable-5-1", "off", "adaptive", None),
        ("qwen3-coder", "minimal", {"type": "enabled", "budget_tokens": 1024}, None),
    ],
)
def test_each_model_gets_its_own_thinking_parameters(
    model: str, level: ThinkingLevel, thinking: JsonObject | str | None, effort: str | None
) -> None:
    body = body_of(user("Go"), model=model, thinking=level)

    wanted = {"type": "adaptive", "display": "summarized"} if thinking == "adaptive" else thinking
    assert body.get("thinking") == wanted
    assert body.get("output_config") == ({"effort": effort} if effort else None)


@pytest.mark.parametrize(("model", "taken"), [(OLD, True), ("claude-sonnet-4-6", True), (NEW, False), ("local", True)])
def test_a_temperature_is_sent_only_to_models_that_take_one(model: str, taken: bool) -> None:
    spec = ModelSpec("anthropic", model)

    body = encode(Request(spec, "", (user("Go"),), temperature=0.5), thinking_form(spec))

    assert ("temperature" in body) is taken
