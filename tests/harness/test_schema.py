from __future__ import annotations

import subprocess
import sys

import pytest
from fakes.model_server import ModelServer

from harness.errors import ConfigError, InvalidArguments
from harness.function_tools.schema import Checker
from harness.messages import JsonObject, JsonValue

NAME: JsonObject = {"type": "string"}
ITEM: JsonObject = {
    "type": "object",
    "properties": {"name": NAME, "kind": {"enum": ["big", "small"]}},
    "required": ["name", "kind"],
    "additionalProperties": False,
}
CIRCLE: JsonObject = {
    "type": "object",
    "properties": {"shape": {"const": "circle"}, "radius": {"type": "number"}},
    "required": ["shape", "radius"],
}
SQUARE: JsonObject = {
    "type": "object",
    "properties": {"shape": {"const": "square"}, "side": {"type": "number"}},
    "required": ["shape", "side"],
}
ORDER: JsonObject = {
    "type": "object",
    "properties": {
        "items": {"type": "array", "items": ITEM},
        "mode": {"enum": ["fast", "slow"], "default": "fast"},
        "count": {"type": "integer", "minimum": 3},
        "who": {"anyOf": [NAME, {"type": "object", "properties": {"id": NAME}, "required": ["id"]}]},
        "drawn": {"oneOf": [CIRCLE, SQUARE]},
        "level": {"type": ["integer", "null"]},
        "fixed": {"const": 1},
        "even": {"oneOf": [{"multipleOf": 2}, {"type": "integer"}]},
    },
    "additionalProperties": False,
}


def problems(value: JsonValue, schema: JsonObject = ORDER) -> list[str]:
    return list(Checker("order", schema).problems(value))


@pytest.mark.parametrize(
    ("value", "reported"),
    [
        ({"items": [{}]}, ["items[0]: required and missing: name, kind"]),
        ({"items": [{"name": 1, "kind": "big"}]}, ["items[0].name: must be string, not integer 1"]),
        ({"items": {}}, ["items: must be array, not object {}"]),
        ({"mode": "fat"}, ['mode: must be one of "fast", "slow", not "fat"']),
        ({"moode": 1}, ["moode: unknown property; did you mean mode?"]),
        ({"count": 1}, ["count: 1 is less than the minimum of 3"]),
        ({"level": "x"}, ['level: must be integer or null, not string "x"']),
        ({"fixed": 2}, ["fixed: must be 1, not 2"]),
        ({"who": 3}, ["who: must be string or object with id, not integer 3"]),
        ({"who": {"id": 3}}, ["who.id: must be string, not integer 3"]),
        ({"drawn": {"shape": "square", "side": "x"}}, ['drawn.side: must be number, not string "x"']),
        ({"drawn": {"shape": "oval"}}, ['drawn.shape: must be "circle" or "square", not "oval"']),
        ({"even": 2}, ["even: fits more than one of its forms and must fit exactly one"]),
        ("text", ['arguments: must be object, not string "text"']),
        ({"count": 3, "items": [{"name": "a", "kind": "big"}]}, []),
    ],
)
def test_issue_names_the_path_the_value_and_the_expectation(value: JsonValue, reported: list[str]):
    assert problems(value) == reported


def test_unknown_property_lists_the_known_ones():
    schema: JsonObject = {"properties": {"a": NAME, "b": NAME}, "additionalProperties": False}

    assert problems({"zzz": 1}, schema) == ["zzz: unknown property; known are a, b"]
    assert problems({"zzz": 1}, {"additionalProperties": False}) == ["zzz: unknown property; leave it out"]


def test_property_matching_a_pattern_is_known():
    schema: JsonObject = {"patternProperties": {"^x-": NAME}, "additionalProperties": False}

    assert problems({"x-a": "b", "y": 1}, schema) == ["y: unknown property; leave it out"]


def test_rejection_lists_five_issues_and_asks_to_resend():
    with pytest.raises(InvalidArguments) as caught:
        Checker("order", ORDER).check({f"wrong_{number}": number for number in range(9)})

    lines = str(caught.value).splitlines()
    assert lines[0] == "The arguments of order do not fit its schema:"
    assert len(lines) == 1 + 5 + 2
    assert lines[-2:] == ["- and 4 more", "Send the call again, corrected."]


def test_long_value_is_truncated_in_the_issue():
    assert len(problems({"items": "x" * 10_000})[0]) < 150
    assert len(problems({"count": "x" * 10_000})[0]) < 150
    assert len(problems({"items": {str(number): "x" * 100 for number in range(100)}})[0]) < 150
    assert len(problems("x" * 10_000, {"pattern": "y"})[0]) < 250


def test_top_level_defaults_are_filled_in_and_not_shared_between_calls():
    schema: JsonObject = {"properties": {"tags": {"default": []}, "who": {"default": "me"}}}
    checker = Checker("t", schema)

    first = checker.check({"who": "you"})
    tags = first["tags"]
    assert isinstance(tags, list)
    tags.append("changed")

    assert first == {"who": "you", "tags": ["changed"]}
    assert checker.check({}) == {"tags": [], "who": "me"}


def test_input_is_not_mutated():
    sent: JsonObject = {"count": 3, "level": None}

    assert Checker("t", ORDER).check(sent) == {"count": 3, "level": None, "mode": "fast"}
    assert sent == {"count": 3, "level": None}


def test_schema_draft_is_respected():
    pair: JsonObject = {"items": [{"type": "integer"}, NAME]}

    assert problems(["x"], {"$schema": "http://json-schema.org/draft-07/schema#", **pair})
    with pytest.raises(ConfigError, match="items"):
        problems(["x"], pair)


def test_internal_references_are_resolved():
    schema: JsonObject = {"properties": {"item": {"$ref": "#/$defs/item"}}, "$defs": {"item": ITEM}}

    assert problems({"item": {"name": "a", "kind": "bog"}}, schema) == [
        'item.kind: must be one of "big", "small", not "bog"'
    ]


@pytest.mark.parametrize("reference", ["https://example.org/a.json", "#/$defs/none"])
def test_dangling_reference_is_reported(reference: str):
    with pytest.raises(
        ConfigError, match="the schema of order refers to something it does not contain, and references are not fetched"
    ):
        problems({}, {"$ref": reference})


def test_external_reference_is_not_fetched():
    with ModelServer() as server:
        with pytest.raises(ConfigError, match="references are not fetched"):
            problems({}, {"$ref": f"{server.url}/v1/models"})

        assert server.connections_opened == 0


@pytest.mark.parametrize(
    ("schema", "reported"),
    [
        ({"type": "strin"}, "the schema of order is invalid: type"),
        ({"properties": {"a": {"type": 3}}}, r"is invalid: properties\.a\.type"),
        ({"properties": {"a": {"pattern": "("}}}, r"is invalid: properties\.a\.pattern"),
        ({"required": "a"}, "is invalid: required"),
        ({"default": object()}, "the schema of order is not JSON"),
        ([], "is invalid: it must be an object"),
    ],
)
def test_invalid_schema_is_reported_clearly(schema: JsonObject, reported: str):
    with pytest.raises(ConfigError, match=reported):
        problems({}, schema)


def test_infinitely_nested_schema_or_value_is_an_issue_and_not_a_crash():
    deep: JsonValue = "x"
    for _ in range(5000):
        deep = [deep]

    assert problems({}, {"$ref": "#"}) == ["arguments: nested too deeply to be checked"]
    assert problems(deep, {"items": {"$ref": "#"}}) == ["arguments: nested too deeply to be checked"]


def test_jsonschema_is_imported_on_first_use_only():
    code = (
        "import sys, harness.agent.agent; from harness.function_tools.schema import Checker;"
        "checker = Checker('t', {'type': 'object'});"
        "print('jsonschema' in sys.modules, 'pydantic' in sys.modules); checker.check({});"
        "print('jsonschema' in sys.modules)"
    )

    reported = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert reported.stdout.split() == ["False", "False", "True"]
