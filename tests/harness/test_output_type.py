from __future__ import annotations

import asyncio
import json

import pytest
from fakes.invoices import (
    GOOD,
    SCHEMA,
    Invoice,
    Line,
    Named,
    Point,
    Tree,
    answer,
)
from fakes.runs import results_of
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import TypeAdapter

from harness.errors import (
    ConfigError,
    InvalidArguments,
)
from harness.function_tools.output_type import output_type


async def test_a_schema_gives_plain_json(make_agent):
    agent = make_agent(answer({"total": "x"}), answer({"total": 3}))

    assert await agent.prompt_structured("Add", SCHEMA) == {"total": 3}
    assert "total: must be number" in results_of(agent)[0].text


@pytest.mark.parametrize(
    ("schema", "sent", "value"),
    [
        (list[int], {"value": [1, 2]}, [1, 2]),
        (int | str, {"value": "x"}, "x"),
        (Point, {"x": 1}, Point(1)),
        (Named, {"name": "a"}, {"name": "a"}),
        (dict[str, int], {"a": 1}, {"a": 1}),
        (Tree, {"name": "a", "children": [{"name": "b"}]}, Tree(name="a", children=[Tree(name="b")])),
        (list[Tree], {"value": [{"name": "a"}]}, [Tree(name="a")]),
        ({"type": "array", "items": {"type": "integer"}}, {"value": [1]}, [1]),
        ({"$ref": "#/$defs/A", "$defs": {"A": {"type": "integer"}}}, {"value": 1}, 1),
        ({"type": "array", "items": {"$ref": "#"}}, {"value": [[], [[]]]}, [[], [[]]]),
        ({"properties": {"a": {"type": "integer"}}}, {"a": 1}, {"a": 1}),
    ],
)
async def test_any_type_and_any_schema_is_accepted(make_agent, requests, schema, sent, value):
    agent = make_agent(answer(sent))

    assert await agent.prompt_structured("Go", schema) == value

    assert requests(agent)[0].tools[0].parameters["type"] == "object"


@pytest.mark.parametrize(
    ("schema", "sent", "reported"),
    [
        (list[int], {"value": ["x"]}, "value[0]: Input should be a valid integer"),
        (list[int], {}, "value: required and missing"),
        (
            {"type": "array", "items": {"type": "integer"}},
            {"value": ["x"]},
            'value[0]: must be integer, not string "x"',
        ),
        ({"type": "array", "items": {"$ref": "#"}}, {"value": [[1]]}, "value[0][0]: must be array, not integer 1"),
    ],
)
def test_validation_error_in_a_wrapped_answer_names_its_path(schema, sent, reported):
    with pytest.raises(InvalidArguments) as caught:
        output_type(schema).read(sent)

    assert reported in str(caught.value)


@pytest.mark.parametrize(
    ("schema", "reported"),
    [
        ({"type": "objekt"}, "the schema of the answer is invalid"),
        (3, "3 cannot be an output type"),
        ("Invoice", "'Invoice' cannot be an output type"),
        (asyncio.Event, "cannot be an output type"),
    ],
)
async def test_invalid_schema_raises_before_anything_is_sent(make_agent, requests, schema, reported):
    agent = make_agent(answer(GOOD))

    with pytest.raises(ConfigError, match=reported):
        await agent.prompt_structured("Go", schema)

    assert not requests(agent)


lines = st.builds(Line, name=st.text(), price=st.floats(0, allow_infinity=False, allow_nan=False))
invoices = st.builds(Invoice, number=st.text(), lines=st.lists(lines, max_size=3))
trees = st.recursive(
    st.builds(Tree, name=st.text()),
    lambda inner: st.builds(Tree, name=st.text(), children=st.lists(inner, max_size=3)),
    max_leaves=6,
)
values = st.one_of(
    st.tuples(st.just(Invoice), invoices),
    st.tuples(st.just(Tree), trees),
    st.tuples(st.just(list[Line]), st.lists(lines, max_size=3)),
    st.tuples(st.just(Point), st.builds(Point, st.integers(), st.integers())),
    st.tuples(st.just(dict[str, int]), st.dictionaries(st.text(), st.integers())),
    st.tuples(st.just(int | None), st.none() | st.integers()),
)


@given(values)
@settings(max_examples=200)
def test_valid_value_round_trips_through_its_schema(pair):
    kind, value = pair
    form = output_type(kind)
    plain = TypeAdapter(kind).dump_python(value, mode="json")
    sent = (
        plain if isinstance(plain, dict) and form.schema.get("properties", {}).keys() != {"value"} else {"value": plain}
    )

    assert form.read(sent) == value
    assert form.read_text(json.dumps(sent)) == value


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)


@given(json_values)
@settings(max_examples=200)
def test_arbitrary_input_is_accepted_or_rejected_with_a_reason(value):
    for schema in (Invoice, SCHEMA, list[int]):
        form = output_type(schema)
        sent = value if isinstance(value, dict) else {"value": value}
        reported = ""
        try:
            form.read(sent)
        except InvalidArguments as error:
            reported = str(error)
        assert all(line.startswith("- ") for line in reported.splitlines())
