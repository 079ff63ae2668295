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
    ("value", "told"),
    [
        ({"items": [{}]}, ["items[0]: required and missing: name, kind"]),
        ({"items": [{"name": 1, "kind": "big"}]}, ["items[0].name: must be string, not integer 1"]),
        ({"items": {}}, ["items: must be array, not object {}"]),
        ({"mode": "fat"}, ['mode: must be one of "fast", "slow", not "fat"']),
        ({"moode": 1}, ["moode: there is no such property; did you mean mode?"]),
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
def test_a_problem_names_the_place_what_is_there_and_what_is_wanted(value: JsonValue, told: list[str]):
    assert problems(value) == told


def test_an_unknown_property_unlike_any_other_is_told_what_there_is():
    schema: JsonObject = {"properties": {"a": NAME, "b": NAME}, "additionalProperties": False}

    assert problems({"zzz": 1}, schema) == ["zzz: there is no such property; there are a, b"]
    assert problems({"zzz": 1}, {"additionalProperties": False}) == ["zzz: there is no such property; leave it out"]


def test_a_property_that_a_pattern_allows_is_not_unknown():
    schema: JsonObject = {"patternProperties": {"^x-": NAME}, "additionalProperties": False}

    assert problems({"x-a": "b", "y": 1}, schema) == ["y: there is no such property; leave it out"]


def test_a_refusal_tells_five_problems_and_to_send_again():
    with pytest.raises(InvalidArguments) as caught:
        Checker("order", ORDER).check({f"wrong_{number}": number for number in range(9)})

    lines = str(caught.value).splitlines()
    assert lines[0] == "The arguments of order do not fit its schema:"
    assert len(lines) == 1 + 5 + 2
    assert lines[-2:] == ["- and more of the kind", "Send the call again, corrected."]


def test_a_long_value_is_not_quoted_whole():
    assert len(problems({"items": "x" * 10_000})[0]) < 150
    assert len(problems({"count": "x" * 10_000})[0]) < 150
    assert len(problems({"items": {str(number): "x" * 100 for number in range(100)}})[0]) < 150
    assert len(problems("x" * 10_000, {"pattern": "y"})[0]) < 250


def test_defaults_of_top_level_properties_are_filled_in_and_shared_by_no_calls():
    schema: JsonObject = {"properties": {"tags": {"default": []}, "who": {"default": "me"}}}
    checker = Checker("t", schema)

    first = checker.check({"who": "you"})
    tags = first["tags"]
    assert isinstance(tags, list)
    tags.append("changed")

    assert first == {"who": "you", "tags": ["changed"]}
    assert checker.check({}) == {"tags": [], "who": "me"}


def test_nothing_that_was_sent_is_changed():
    sent: JsonObject = {"count": 3, "level": None}

    assert Checker("t", ORDER).check(sent) == {"count": 3, "level": None, "mode": "fast"}
    assert sent == {"count": 3, "level": None}


def test_the_draft_a_schema_names_is_followed():
    pair: JsonObject = {"items": [{"type": "integer"}, NAME]}

    assert problems(["x"], {"$schema": "http://json-schema.org/draft-07/schema#", **pair})
    with pytest.raises(ConfigError, match="items"):
        problems(["x"], pair)


def test_references_inside_the_schema_are_followed():
    schema: JsonObject = {"properties": {"item": {"$ref": "#/$defs/item"}}, "$defs": {"item": ITEM}}

    assert problems({"item": {"name": "a", "kind": "bog"}}, schema) == [
        'item.kind: must be one of "big", "small", not "bog"'
    ]


@pytest.mark.parametrize("reference", ["https://example.org/a.json", "#/$defs/none"])
def test_a_reference_that_leads_nowhere_is_told(reference: str):
    with pytest.raises(ConfigError, match="the schema of order refers to what is not in it, and nothing is fetched"):
        problems({}, {"$ref": reference})


def test_a_reference_to_elsewhere_is_not_fetched():
    with ModelServer() as server:
        with pytest.raises(ConfigError, match="nothing is fetched"):
            problems({}, {"$ref": f"{server.url}/v1/models"})

        assert server.connections_opened == 0


@pytest.mark.parametrize(
    ("schema", "told"),
    [
        ({"type": "strin"}, "the schema of order is wrong: type"),
        ({"properties": {"a": {"type": 3}}}, r"is wrong: properties\.a\.type"),
        ({"properties": {"a": {"pattern": "("}}}, r"is wrong: properties\.a\.pattern"),
        ({"required": "a"}, "is wrong: required"),
        ({"default": object()}, "the schema of order is no JSON"),
        ([], "is wrong: it must be an object"),
    ],
)
def test_a_schema_that_is_itself_wrong_is_told_clearly(schema: JsonObject, told: str):
    with pytest.raises(ConfigError, match=told):
        problems({}, schema)


def test_a_schema_or_value_without_end_is_a_problem_and_not_a_crash():
    deep: JsonValue = "x"
    for _ in range(5000):
        deep = [deep]

    assert problems({}, {"$ref": "#"}) == ["arguments: nested too deeply to be checked"]
    assert problems(deep, {"items": {"$ref": "#"}}) == ["arguments: nested too deeply to be checked"]


def test_checking_loads_jsonschema_and_nothing_before_it_does():
    code = (
        "import sys, harness.agent.agent; from harness.function_tools.schema import Checker;"
        "checker = Checker('t', {'type': 'object'});"
        "print('jsonschema' in sys.modules, 'pydantic' in sys.modules); checker.check({});"
        "print('jsonschema' in sys.modules)"
    )

    told = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert told.stdout.split() == ["False", "False", "True"]
