from __future__ import annotations

import json
import threading
from datetime import date
from pathlib import Path
from typing import Annotated, Literal

import pytest
from fakes.own_tools import Colour, Part, Place, Till, output
from pydantic import Field, SecretStr

from harness.errors import ConfigError, InvalidArguments
from harness.function_tools.function_tool import FunctionTool, tool
from harness.messages import JsonObject, JsonValue, Text
from harness.ports.tool import ToolContext


@tool
def everything(
    *,
    where: Place,
    colour: Colour,
    context: ToolContext,
    when: date,
    line: Part | None = None,
    tags: list[str] = [],  # noqa: B006  the schema has it, and no call changes it for the next
    sizes: dict[str, int] = {},  # noqa: B006
    mode: Literal["a", "b"] = "a",
    level: Annotated[int, Field(ge=1, description="How high.")] = 3,
    many: int = Field(5, le=9, description="How many."),
    note: Annotated[str, "A word."] = "",
    json: bool = True,
) -> object:
    """Takes everything.

    Args:
        where: Where
            it is.
        note: Not this.
    """
    return [context.call_id, where, colour, when, line, tags, sizes, mode, level, many, note, json]


def properties(of: FunctionTool) -> dict[str, JsonObject]:
    return of.parameters["properties"]


def test_schema_follows_the_type_hints_in_order():
    assert list(properties(everything)) == [
        *("where", "colour", "when", "line", "tags", "sizes", "mode", "level", "many", "note", "json")
    ]
    assert everything.parameters["required"] == ["where", "colour", "when"]
    assert everything.parameters["additionalProperties"] is False
    assert properties(everything)["where"] == {
        "type": "object",
        "properties": {"x": {"type": "integer"}, "y": {"type": "integer", "default": 0}},
        "required": ["x"],
        "additionalProperties": False,
        "description": "Where it is.",
    }
    assert properties(everything)["colour"] == {"type": "string", "enum": ["red", "blue"]}
    assert properties(everything)["tags"] == {"type": "array", "items": {"type": "string"}, "default": []}
    assert properties(everything)["level"] == {
        "type": "integer",
        "minimum": 1,
        "default": 3,
        "description": "How high.",
    }
    assert properties(everything)["many"]["description"] == "How many."
    assert properties(everything)["note"]["description"] == "A word."
    assert properties(everything)["line"]["anyOf"] == [{"$ref": "#/$defs/Part"}, {"type": "null"}]
    assert "title" not in json.dumps(everything.parameters)


async def test_function_receives_values_of_its_hinted_types(tmp_path: Path):
    seen: list[object] = []

    @tool
    def keep(where: Place, colour: Colour, when: date, line: Part, secret: SecretStr) -> None:
        seen.extend([where, colour, when, line, secret.get_secret_value()])

    given: dict[str, JsonValue] = {"where": {"x": 1}, "colour": "red", "when": "2026-01-02", "secret": "s"}
    await output(keep, tmp_path, **given, line={"name": "a", "parts": [{"name": "b"}]})

    assert seen == [Place(1), Colour.RED, date(2026, 1, 2), Part(name="a", parts=[Part(name="b")]), "s"]


async def test_defaults_and_the_context_are_filled_in(tmp_path: Path):
    answer = await output(everything, tmp_path, where={"x": 1}, colour="blue", when="2026-01-02")

    assert answer.details == {
        "value": ["call/1", {"x": 1, "y": 0}, "blue", "2026-01-02", None, [], {}, "a", 3, 5, "", True]
    }


async def test_default_that_json_cannot_hold_is_the_functions_own(tmp_path: Path):
    unset = object()

    @tool
    def look(path: str = unset, depth: int = None) -> str:  # noqa: RUF013  as many write it
        return f"{path is unset} {depth}"

    assert properties(look) == {"path": {"type": "string"}, "depth": {"type": "integer", "default": None}}
    assert (await output(look, tmp_path)).content == (Text("True None"),)


async def test_optional_context_is_filled_in(tmp_path: Path):
    @tool
    async def where(context: ToolContext | None = None) -> str:
        return context.call_id if context else ""

    assert where.parameters["properties"] == {}
    assert (await output(where, tmp_path)).content == (Text("call/1"),)


@pytest.mark.parametrize(
    ("arguments", "reported"),
    [
        ({"colour": "red", "when": "2026-01-02"}, "where: Field required"),
        ({"where": {"x": "a"}, "colour": "red", "when": "2026-01-02"}, "where.x: Input should be a valid integer"),
        ({"where": {"x": 1, "z": 2}, "colour": "red", "when": "x"}, "where.z: unknown property"),
        ({"where": {"x": 1}, "colour": "reed", "when": "x"}, "colour: Input should be 'red' or 'blue'"),
        ({"colr": "red"}, "colr: unknown property; did you mean colour?"),
        ({"tags": ["a", 1]}, "tags[1]: Input should be a valid string"),
        ({"line": {"parts": [{"name": 1}]}}, "line.parts[0].name: Input should be a valid string"),
        ({"level": 0}, "level: Input should be greater than or equal to 1"),
        ({"context": {}}, "context: unknown property"),
    ],
)
def test_invalid_arguments_are_reported_with_path_and_reason(arguments: JsonObject, reported: str):
    with pytest.raises(InvalidArguments) as caught:
        everything.validate(arguments)

    first, *problems, last = str(caught.value).splitlines()
    assert first == "The arguments of everything do not fit its schema:"
    assert last == "Send the call again, corrected."
    assert any(problem.startswith(f"- {reported}") for problem in problems)


def unreported(a): ...
def many(*a: int): ...
def any_named(**a: int): ...
def by_place(a: int, /): ...
def lost(a: Nowhere): ...  # noqa: F821  that is what it is about
def two(a: ToolContext, b: ToolContext): ...
def no_schema(a: threading.Event): ...


@pytest.mark.parametrize(
    ("function", "reported"),
    [
        (unreported, "unreported: a has no type hint"),
        (many, r"many: a model cannot fill \*a"),
        (any_named, r"any_named: a model cannot fill \*\*a"),
        (by_place, "by_place: a is positional-only"),
        (lost, "lost: a type hint cannot be resolved: name 'Nowhere' is not defined"),
        (two, "two: only one parameter can be the ToolContext, not a and b"),
        (no_schema, "no_schema: its type hints cannot be converted to a JSON schema"),
        (Till.add, r"add: self has no type hint.*tool\(thing\.method\)"),
        (lambda: None, "invalid tool name '<lambda>'"),
    ],
)
def test_unsupported_function_raises_at_definition(function, reported: str):
    with pytest.raises(ConfigError, match=reported):
        tool(function)


def test_contradictory_options_raise():
    with pytest.raises(ConfigError, match="cannot be cacheable"):
        tool(cacheable=True)(Till().add)
    with pytest.raises(ConfigError, match="invalid tool name 'a b'"):
        tool(name="a b")(Till().add)


def test_name_is_the_description_without_a_docstring():
    @tool
    def get_weather(city: str) -> str:
        return city

    assert get_weather.description == "Get weather."
    assert get_weather.label == "Get weather"


def google(a: int, b: str, c: int) -> None:
    """Does it,
    and well.

    At length.

    Args:
        a (int): The first:
            with more.
        *b: The second.

    Returns:
        c: Not a parameter.
    """


def numpy(a: int, b: str, c: int) -> None:
    """
    Does it, and well.

    Parameters
    ----------
    a : int
        The first:
        with more.
    b, c : str, optional
        The others.

    Returns
    -------
    a : int
        Not a parameter.
    """


def rest(a: int, b: str, c: int) -> None:
    """Does it, and well.

    :param a: The first:
        with more.
    :param str b: The second.
    :type c: int
    :returns: Nothing.
    """


@pytest.mark.parametrize(
    ("function", "second", "third"),
    [(google, "The second.", None), (numpy, "The others.", "The others."), (rest, "The second.", None)],
)
def test_three_docstring_styles_are_parsed(function, second: str, third: str | None):
    made = tool(function)

    reported = [part.get("description") for part in properties(made).values()]
    assert (made.description, reported) == ("Does it, and well.", ["The first: with more.", second, third])


def only_arguments(a: int) -> None:
    """Args:
    a: The first.
    """


def test_docstring_of_arguments_alone_gives_no_description():
    assert tool(only_arguments).description == "Only arguments."


def malformed(a: int) -> None:
    """Does it.

    Args:
        a The colon is missing.
    """


def test_malformed_section_keeps_the_description():
    assert tool(malformed).description == "Does it."
    assert "description" not in properties(tool(malformed))["a"]
