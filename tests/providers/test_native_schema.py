from __future__ import annotations

from collections.abc import Sequence

import pytest
from fakes.asking import ModelAt, Serve, said_in
from fakes.judges import accepted_by_anthropic, accepted_by_openai
from fakes.model_server import Failure, ModelServer, Reply
from msgspec.structs import replace

from harness.agent.agent import Agent
from harness.messages import JsonObject, JsonValue, ModelSpec, user
from harness.ports.provider import Model, OutputSchema, Request, ToolSpec
from harness.thinking_level import ThinkingLevel
from providers import Secret, connect
from providers.anthropic.encode import encode as encode_messages
from providers.anthropic.output_schema import output_format
from providers.anthropic.thinking import thinking_form
from providers.openai_chat.dialect import Dialect
from providers.openai_chat.encode import encode as encode_chat
from providers.openai_chat.output_schema import is_strict

NAME: JsonObject = {"type": "string"}
INVOICE: JsonObject = {
    "type": "object",
    "properties": {"number": NAME, "total": {"type": "number", "minimum": 0, "description": "In euros."}},
    "required": ["number", "total"],
    "additionalProperties": False,
}
MAP: JsonObject = {"type": "object", "additionalProperties": {"type": "integer"}}


class AnyKey:
    def find(self, preset_name: str, variables: Sequence[str]) -> Secret:
        return Secret("sk-test", "a test")


def closed(**properties: JsonValue) -> JsonObject:
    return {"type": "object", "properties": properties, "required": [*properties], "additionalProperties": False}


def request(schema: JsonObject = INVOICE, model: str = "claude-opus-4-8", thinking: ThinkingLevel = "off") -> Request:
    spec = ModelSpec("p", model, thinking)
    return Request(spec, "Be brief.", (user("Read it"),), output_schema=OutputSchema("Invoice", schema))


def messages_body(asked: Request, **more: bool) -> JsonObject:
    body = encode_messages(asked, thinking_form(asked.spec), **more)
    assert accepted_by_anthropic(body)
    return body


def chat_body(asked: Request) -> JsonObject:
    body = encode_chat(asked, Dialect())
    assert accepted_by_openai(body)
    return body


def answer_of(server: ModelServer, number: int) -> tuple[bool, bool]:
    """Whether the request of that number holds the model to a schema, and whether it tells it of one."""
    body = server.requests[number].body
    forms = (body.get(name, {}) for name in ("output_config", "text", "generationConfig", "outputConfig"))
    held = bool({"response_format", "format", "answer_schema"} & body.keys()) or any(
        {"format", "responseJsonSchema", "textFormat"} & form.keys() for form in forms
    )
    reported = [body.get(name, "") for name in ("system", "instructions", "systemInstruction")]
    return held, "JSON Schema" in str([*reported, said_in(body)[0]])


@pytest.mark.parametrize(
    ("name", "native"),
    [
        ("anthropic/claude-sonnet-5-5", True),
        ("anthropic/claude-opus-4-5-20251101", True),
        ("anthropic/claude-haiku-4-5", True),
        ("anthropic/claude-opus-4-1-20250805", False),
        ("anthropic/claude-sonnet-4-20250514", False),
        ("anthropic/claude-fable-5", False),
        ("openai-chat/gpt-5.6-terra", True),
        ("openai-chat/gpt-4o-mini", True),
        ("openai-chat/o3-mini", True),
        ("openai-chat/gpt-4o-2024-05-13", False),
        ("openai-chat/gpt-5-chat-latest", False),
        ("openai-chat/gpt-3.5-turbo", False),
        ("openrouter/anthropic/claude-sonnet-5.5", False),
        ("ollama/qwen3", False),
        ("gemini/gemini-3.8-flash", True),
        ("gemini/gemini-4-argon", True),
        ("gemini/gemini-pro-latest", True),
        ("gemini/gemini-2.5-pro", False),
    ],
)
def test_a_model_is_known_to_keep_to_a_schema_or_not(name: str, native: bool) -> None:
    assert connect(name, credentials=AnyKey()).native_schema is native


def test_another_server_behind_a_preset_is_not_trusted_with_schemas() -> None:
    assert connect("openai-chat/gpt-5.6-terra", base_url="http://127.0.0.1:1").native_schema is False


def test_chat_completions_are_held_to_the_whole_schema() -> None:
    assert chat_body(request())["response_format"] == {
        "type": "json_schema",
        "json_schema": {"name": "Invoice", "schema": INVOICE, "strict": True},
    }


def test_the_messages_api_enforces_what_it_supports_and_the_prompt_describes_the_rest() -> None:
    body = messages_body(request(thinking="high"))

    total = {"type": "number", "description": "In euros.\nRules: minimum 0"}
    held = {**INVOICE, "properties": {"number": NAME, "total": total}}
    assert body["output_config"] == {"effort": "high", "format": {"type": "json_schema", "schema": held}}
    assert "JSON Schema" not in str(body["system"])


def test_without_a_schema_nothing_is_reported_for_one() -> None:
    asked = Request(ModelSpec("p", "m"), "Be brief.", (user("Hi"),))

    assert "response_format" not in chat_body(asked)
    assert "output_config" not in messages_body(asked)


@pytest.mark.parametrize(
    ("schema", "strict"),
    [
        (INVOICE, True),
        (closed(lines={"type": "array", "items": closed(a=NAME), "minItems": 1}), True),
        (closed(a={"anyOf": [NAME, {"type": "null"}]}), True),
        ({**closed(a={"$ref": "#/$defs/A"}), "$defs": {"A": closed(b=NAME)}}, True),
        ({**INVOICE, "required": ["number"]}, False),
        ({key: value for key, value in INVOICE.items() if key != "additionalProperties"}, False),
        (closed(a=MAP), False),
        (closed(a={"type": "string", "default": "x"}), False),
        (closed(a={"type": "array", "items": {"type": "object"}}), False),
        (closed(a={}), False),
        ({"anyOf": [INVOICE, MAP]}, False),
        ({**closed(a=NAME), "$defs": {"A": {"type": "object"}}}, False),
    ],
)
def test_strict_mode_is_requested_only_for_supported_schemas(schema: JsonObject, strict: bool) -> None:
    assert is_strict(schema) is strict
    assert chat_body(request(schema))["response_format"]["json_schema"]["strict"] is strict


@pytest.mark.parametrize(
    ("part", "held"),
    [
        ({"type": "string", "format": "date", "maxLength": 9}, {"type": "string", "format": "date"}),
        ({"type": "string", "format": "color"}, {"type": "string"}),
        ({"enum": ["a", 1, None]}, {"enum": ["a", 1, None]}),
        ({"oneOf": [NAME, {"const": 3}]}, {"anyOf": [NAME, {"const": 3}]}),
        ({"type": ["string", "null"]}, {"anyOf": [NAME, {"type": "null"}]}),
        ({"type": "array", "items": NAME, "minItems": 1}, {"type": "array", "items": NAME, "minItems": 1}),
        ({"type": "array", "items": NAME, "minItems": 3}, {"type": "array", "items": NAME}),
        ({"type": "object", "properties": {"a": NAME}}, {**closed(a=NAME), "required": None}),
        ({"$ref": "#/$defs/A", "description": "x"}, {"$ref": "#/$defs/A"}),
    ],
)
def test_a_schema_is_converted_to_the_subset_of_the_messages_api(part: JsonObject, held: JsonObject) -> None:
    form = output_format({**closed(a=part), "$defs": {"A": closed(b=NAME)}})

    assert form is not None
    said = form["schema"]["properties"]["a"]
    said.pop("description", None)
    assert said == {key: value for key, value in held.items() if value is not None}


@pytest.mark.parametrize(
    "schema",
    [
        MAP,
        closed(a=MAP),
        closed(a={"type": "object"}),
        closed(a={}),
        closed(a=True),
        closed(a={"type": "array"}),
        closed(a={"enum": [{"b": 1}]}),
        closed(a={"type": "string", "not": {"const": "x"}}),
        closed(a={"type": "date"}),
        closed(a={"$ref": "https://example.org/a.json"}),
        {**closed(a={"$ref": "#/$defs/A"}), "$defs": {"A": closed(b={"$ref": "#/$defs/A"})}},
        {**closed(a=NAME), "properties": []},
        {**closed(a=NAME), "$defs": []},
        {**closed(a=NAME), "additionalProperties": NAME},
        closed(a={"type": "object", "properties": {}, "additionalProperties": True}),
    ],
)
def test_constraints_the_messages_api_cannot_enforce_are_described_in_the_prompt(schema: JsonObject) -> None:
    body = messages_body(request(schema))

    assert "output_config" not in body
    assert "JSON Schema" in str(body["system"])


def test_empty_parameters_are_sent_as_an_object_schema() -> None:
    asked = replace(request(), tools=(ToolSpec("look", "Looks.", {}),))

    assert chat_body(asked)["tools"][0]["function"]["parameters"] == {"type": "object", "properties": {}}
    assert messages_body(asked)["tools"][0]["input_schema"] == {"type": "object"}


@pytest.mark.parametrize(
    ("wire", "refusal"),
    [
        ("anthropic", "output_config.format: structured outputs are not supported for this model"),
        ("anthropic", "Schema is too complex for compilation"),
        ("openai-chat", "Invalid schema for response_format 'Invoice'"),
        ("openai", "Invalid schema for response_format 'Invoice': in context=(), text.format.schema"),
        ("gemini", "Function calling with a response mime type: 'application/json' is unsupported"),
        ("gemini", "The specified schema produces a constraint that has too many states for serving."),
    ],
)
async def test_a_refused_schema_is_described_in_text_from_then_on(
    serve: Serve, model_at: ModelAt, wire: str, refusal: str
) -> None:
    server = serve([Failure(400, refusal), Reply("{}"), Reply("{}")])
    model = model_at(server, wire)
    asked = request(model=model.spec.model_id)

    for _ in range(2):
        assert [delta async for delta in model.provider.stream(asked)]

    assert [answer_of(server, number) for number in range(3)] == [(True, False), (False, True), (False, True)]


async def test_a_refusal_of_something_else_leaves_the_schema(serve: Serve, wire: str, model_at: ModelAt) -> None:
    server = serve([Failure(400, "the picture is broken"), Reply("{}")])
    model: Model = model_at(server, wire)
    asked = request(model=model.spec.model_id)

    with pytest.raises(Exception, match="picture"):
        _ = [delta async for delta in model.provider.stream(asked)]
    _ = [delta async for delta in model.provider.stream(asked)]

    # Ollama does not tell a model what it holds it to.
    assert [answer_of(server, number) for number in range(2)] == [(True, wire == "ollama")] * 2


async def test_an_agent_gets_its_answer_by_the_schema_of_the_service(
    serve: Serve, wire: str, model_at: ModelAt
) -> None:
    server = serve([Reply('{"number": "7"}'), Reply('{"number": "7", "total": 3}')])
    agent = Agent(replace(model_at(server, wire), native_schema=True))

    value = await agent.prompt_structured("Read it", INVOICE)

    assert value == {"number": "7", "total": 3}
    # Ollama does not tell a model what it holds it to.
    assert [answer_of(server, number) for number in range(2)] == [(True, wire == "ollama")] * 2
    assert "tools" not in server.requests[0].body
    assert "total" in str(said_in(server.requests[1].body)[-1])


async def test_an_agent_gets_its_answer_by_a_tool_where_the_service_has_no_schemas(
    serve: Serve, wire: str, model_at: ModelAt
) -> None:
    server = serve([Reply(calls=[("__structured_output", {"number": "7", "total": 3})])])

    value = await Agent(model_at(server, wire)).prompt_structured("Read it", INVOICE)

    assert value == {"number": "7", "total": 3}
    assert answer_of(server, 0) == (False, False)
    body = server.requests[0].body
    assert "__structured_output" in str(body.get("tools", body.get("toolConfig")))
