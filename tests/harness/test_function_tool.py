from __future__ import annotations

import asyncio
import enum
import functools
import json
import threading
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Annotated, Literal

import pytest
from fakes.contexts import tool_context
from fakes.runs import calls, results_of
from pydantic import BaseModel, Field, SecretStr

from harness.errors import ConfigError, InvalidArguments
from harness.function_tool import FunctionTool, tool
from harness.messages import Image, JsonObject, JsonValue, Text
from harness.schema_tool import SchemaTool
from harness.tool import ToolContext, ToolOutput
from harness.views import TextView
from providers.demo import Call, Reply

TURN = ["TurnStart", "MessageStart", "MessageEnd", "RequestStart", "MessageStart", "MessageEnd", "UsageUpdate"]
ASKED = ["ToolApprovalRequested", "ToolApprovalResolved"]
CALLED = ["ToolExecutionStart", "ToolExecutionEnd", "TurnEnd"]
LAST = ["TurnStart", "RequestStart", "MessageStart", "MessageEnd", "UsageUpdate", "TurnEnd", "AgentEnd"]
PIXEL = Image("image/png", "iVBORw0KGgo=")
WEATHER: JsonObject = {
    "type": "object",
    "properties": {"city": {"type": "string"}, "days": {"type": "integer", "default": 1}},
    "required": ["city"],
}


class Colour(enum.Enum):
    RED = "red"
    BLUE = "blue"


class Line(BaseModel):
    name: str
    parts: list[Line] = []


@dataclass
class Point:
    x: int
    y: int = 0


@tool(risk="read")
async def forecast(city: str, days: int = 1) -> str:
    """Tells the weather."""
    return f"{days} days of rain in {city}"


@tool
def everything(
    *,
    where: Point,
    colour: Colour,
    context: ToolContext,
    when: date,
    line: Line | None = None,
    tags: list[str] = [],  # noqa: B006  a model is told of it, and no call changes it for the next
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


def plain(*, returns: object) -> FunctionTool:
    @tool
    def give() -> object:
        return returns

    return give


async def output(of: FunctionTool | SchemaTool, folder: Path, **arguments: JsonValue) -> ToolOutput:
    return await of.run(of.validate(arguments), tool_context(folder))


def test_a_function_says_what_it_is_and_is_asked_about_unless_told_otherwise():
    assert (everything.name, everything.label, everything.description) == (
        "everything",
        "Everything",
        "Takes everything.",
    )
    assert everything.risk({}).level == "execute"
    assert everything.mutates
    assert (forecast.risk({}).level, forecast.mutates) == ("read", False)


def test_what_is_said_of_a_tool_goes_over_what_its_function_says():
    @tool(name="other", label="Another", description="Is another.", risk="read", mutates=True, cacheable=True)
    def one(a: int) -> int:
        """One."""
        return a

    assert (one.name, one.label, one.description, one.mutates) == ("other", "Another", "Is another.", True)
    assert one.risk({}).cacheable


def test_the_schema_follows_the_hints_in_their_order():
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
    assert properties(everything)["line"]["anyOf"] == [{"$ref": "#/$defs/Line"}, {"type": "null"}]
    assert "title" not in json.dumps(everything.parameters)


async def test_a_function_gets_values_of_the_types_it_hints(tmp_path: Path):
    seen: list[object] = []

    @tool
    def keep(where: Point, colour: Colour, when: date, line: Line, secret: SecretStr) -> None:
        seen.extend([where, colour, when, line, secret.get_secret_value()])

    given: dict[str, JsonValue] = {"where": {"x": 1}, "colour": "red", "when": "2026-01-02", "secret": "s"}
    await output(keep, tmp_path, **given, line={"name": "a", "parts": [{"name": "b"}]})

    assert seen == [Point(1), Colour.RED, date(2026, 1, 2), Line(name="a", parts=[Line(name="b")]), "s"]


async def test_defaults_and_the_context_are_filled_in(tmp_path: Path):
    answer = await output(everything, tmp_path, where={"x": 1}, colour="blue", when="2026-01-02")

    assert answer.details == {
        "value": ["call/1", {"x": 1, "y": 0}, "blue", "2026-01-02", None, [], {}, "a", 3, 5, "", True]
    }


async def test_a_default_that_json_cannot_hold_is_the_functions_own(tmp_path: Path):
    unset = object()

    @tool
    def look(path: str = unset, depth: int = None) -> str:  # noqa: RUF013  as many write it
        return f"{path is unset} {depth}"

    assert properties(look) == {"path": {"type": "string"}, "depth": {"type": "integer", "default": None}}
    assert (await output(look, tmp_path)).content == (Text("True None"),)


async def test_an_optional_context_is_filled_in_too(tmp_path: Path):
    @tool
    async def where(context: ToolContext | None = None) -> str:
        return context.call_id if context else ""

    assert where.parameters["properties"] == {}
    assert (await output(where, tmp_path)).content == (Text("call/1"),)


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        ({"colour": "red", "when": "2026-01-02"}, "where: Field required"),
        ({"where": {"x": "a"}, "colour": "red", "when": "2026-01-02"}, "where.x: Input should be a valid integer"),
        ({"where": {"x": 1, "z": 2}, "colour": "red", "when": "x"}, "where.z: there is no such property"),
        ({"where": {"x": 1}, "colour": "reed", "when": "x"}, "colour: Input should be 'red' or 'blue'"),
        ({"colr": "red"}, "colr: there is no such property; did you mean colour?"),
        ({"tags": ["a", 1]}, "tags[1]: Input should be a valid string"),
        ({"line": {"parts": [{"name": 1}]}}, "line.parts[0].name: Input should be a valid string"),
        ({"level": 0}, "level: Input should be greater than or equal to 1"),
        ({"context": {}}, "context: there is no such property"),
    ],
)
def test_wrong_arguments_are_told_where_and_why(arguments: JsonObject, told: str):
    with pytest.raises(InvalidArguments) as caught:
        everything.validate(arguments)

    first, *problems, last = str(caught.value).splitlines()
    assert first == "The arguments of everything do not fit its schema:"
    assert last == "Send the call again, corrected."
    assert any(problem.startswith(f"- {told}") for problem in problems)


async def test_json_in_a_string_is_taken_out_of_it(tmp_path: Path):
    @tool
    def add(numbers: list[int], text: str) -> str:
        return f"{sum(numbers)}{text}"

    assert (await output(add, tmp_path, numbers="[1, 2]", text="[3]")).content == (Text("3[3]"),)


@pytest.mark.parametrize(
    ("returned", "content", "details"),
    [
        ("text", (Text("text"),), None),
        ("", (Text("(no output)"),), None),
        (None, (Text("(no output)"),), None),
        (ToolOutput.failure("no"), (Text("no"),), None),
        (PIXEL, (PIXEL,), None),
        ([Text("a"), PIXEL], (Text("a"), PIXEL), None),
        ({"a": 1, "é": None}, (Text('{"a": 1, "é": null}'),), {"a": 1, "é": None}),
        ([1, 2], (Text("[1, 2]"),), {"value": [1, 2]}),
        ([], (Text("[]"),), {"value": []}),
        (3.5, (Text("3.5"),), {"value": 3.5}),
        (float("nan"), (Text("null"),), {"value": None}),
        (True, (Text("true"),), {"value": True}),
        (Point(1, 2), (Text('{"x": 1, "y": 2}'),), {"x": 1, "y": 2}),
        (Line(name="a"), (Text('{"name": "a", "parts": []}'),), {"name": "a", "parts": []}),
        (Colour.RED, (Text('"red"'),), {"value": "red"}),
    ],
)
async def test_what_a_function_returns_becomes_output(tmp_path: Path, returned: object, content: tuple, details):
    answer = await output(plain(returns=returned), tmp_path)

    assert (answer.content, answer.details) == (content, details)


async def test_what_nobody_can_read_is_no_output(tmp_path: Path):
    with pytest.raises(TypeError, match="a tool cannot return a object"):
        await output(plain(returns=object()), tmp_path)


async def test_a_function_that_is_not_async_does_not_hold_up_the_loop(tmp_path: Path):
    released = threading.Event()

    @tool
    def wait() -> str:
        return str(released.wait(5))

    waiting = asyncio.create_task(output(wait, tmp_path))
    await asyncio.sleep(0)
    released.set()

    assert (await waiting).content == (Text("True"),)


async def test_a_function_may_hand_back_something_to_await(tmp_path: Path):
    async def later(word: str) -> str:
        return word

    @tool
    def give(word: str) -> object:
        return later(word)

    assert (await output(give, tmp_path, word="a")).content == (Text("a"),)
    bound = tool(name="bound")(functools.partial(later))
    assert (await output(bound, tmp_path, word="b")).content == (Text("b"),)


async def test_a_function_that_stops_an_iteration_fails_and_does_not_hang(tmp_path: Path):
    @tool
    def take() -> str:
        return next(iter([]))

    async with asyncio.timeout(5):
        with pytest.raises(RuntimeError, match="raised StopIteration"):
            await output(take, tmp_path)


class Till:
    def __init__(self) -> None:
        self.sum = 0

    def add(self, amount: int) -> int:
        """Adds to the sum."""
        self.sum += amount
        return self.sum

    async def __call__(self, amount: int) -> int:
        """Adds it all."""
        return self.add(amount)


async def test_methods_and_callable_objects_can_be_tools_when_they_are_bound(tmp_path: Path):
    till = Till()
    add, call = tool(till.add), tool(name="till")(till)

    await output(add, tmp_path, amount=2)
    answer = await output(call, tmp_path, amount=3)

    assert (add.name, add.description, answer.details) == ("add", "Adds to the sum.", {"value": 5})


async def test_a_tool_is_still_the_function():
    assert await forecast("Ulm", days=2) == "2 days of rain in Ulm"
    assert forecast.__name__ == "forecast"
    assert forecast.__doc__ == "Tells the weather."


def untold(a): ...
def many(*a: int): ...
def any_named(**a: int): ...
def by_place(a: int, /): ...
def lost(a: Nowhere): ...  # noqa: F821  that is what it is about
def two(a: ToolContext, b: ToolContext): ...
def no_schema(a: threading.Event): ...


@pytest.mark.parametrize(
    ("function", "told"),
    [
        (untold, "untold: a has no type hint"),
        (many, r"many: a model cannot fill \*a"),
        (any_named, r"any_named: a model cannot fill \*\*a"),
        (by_place, "by_place: a is positional only"),
        (lost, "lost: a type hint cannot be read: name 'Nowhere' is not defined"),
        (two, "two: only one parameter can be the ToolContext, not a and b"),
        (no_schema, "no_schema: its type hints cannot be told a model"),
        (Till.add, r"add: self has no type hint.*tool\(thing\.method\)"),
        (lambda: None, "no tool can be named '<lambda>'"),
    ],
)
def test_what_can_be_no_tool_is_told_when_it_is_made_one(function, told: str):
    with pytest.raises(ConfigError, match=told):
        tool(function)


def test_what_contradicts_itself_is_told():
    with pytest.raises(ConfigError, match="cannot be cacheable"):
        tool(cacheable=True)(Till().add)
    with pytest.raises(ConfigError, match="no tool can be named 'a b'"):
        tool(name="a b")(Till().add)


def test_without_a_docstring_the_name_is_the_description():
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
def test_docstrings_of_three_kinds_are_read(function, second: str, third: str | None):
    made = tool(function)

    told = [part.get("description") for part in properties(made).values()]
    assert (made.description, told) == ("Does it, and well.", ["The first: with more.", second, third])


def only_arguments(a: int) -> None:
    """Args:
    a: The first.
    """


def test_a_docstring_of_arguments_alone_describes_nothing():
    assert tool(only_arguments).description == "Only arguments."


async def test_a_tool_shows_what_it_would_do(tmp_path: Path):
    assert forecast.summary({"days": 2, "city": "Ulm\nand more"}) == "Ulm and more"
    assert forecast.summary({"days": 2}) == '{"days": 2}'
    assert forecast.summary({}) == ""
    assert len(forecast.summary({"city": "x" * 1000})) == 80
    assert await forecast.preview({"city": "Ulm"}, tool_context(tmp_path)) == TextView('{\n  "city": "Ulm"\n}', "json")


async def test_an_agent_calls_a_function(make_agent, record):
    agent = make_agent(calls("forecast", city="Ulm"), "It rains.", tools=[forecast])
    seen = record(agent)

    await agent.prompt("How is the weather?")

    assert [name for name in seen.names if name != "MessageUpdate"] == ["AgentStart", *TURN, *CALLED, *LAST]
    assert results_of(agent)[0].text == "1 days of rain in Ulm"


async def test_an_agent_asks_before_it_calls_a_function_of_which_nothing_is_said(make_agent, record, person):
    ran: list[int] = []

    @tool
    def launch(count: int) -> None:
        ran.append(count)

    person.deny("not now")
    agent = make_agent(Reply((Call("launch", {"count": 1}),)), "Then not.", tools=[launch])
    seen = record(agent)

    await agent.prompt("Launch it")

    assert not ran
    assert person.asked[0].summary == '{"count": 1}'
    assert [name for name in seen.names if name != "MessageUpdate"] == ["AgentStart", *TURN, *ASKED, *CALLED, *LAST]


async def test_what_a_function_raises_is_told_to_the_model(make_agent, record):
    @tool(risk="none")
    def divide(a: int, b: int) -> float:
        return a / b

    agent = make_agent(Reply((Call("divide", {"a": 1, "b": 0}),)), "Infinity?", tools=[divide])
    seen = record(agent)

    await agent.prompt("Divide")

    told = results_of(agent)[0]
    assert (told.is_error, told.text) == (True, "divide failed: ZeroDivisionError: division by zero")
    assert [name for name in seen.names if name != "MessageUpdate"] == ["AgentStart", *TURN, *CALLED, *LAST]


async def test_a_function_may_end_the_run(make_agent, record):
    @tool(risk="none")
    def finish() -> ToolOutput:
        return ToolOutput((Text("done"),), ends_run=True)

    agent = make_agent(calls("finish"), "never asked for", tools=[finish])
    seen = record(agent)

    await agent.prompt("Finish")

    assert [name for name in seen.names if name != "MessageUpdate"] == ["AgentStart", *TURN, *CALLED, "AgentEnd"]


def foreign(schema: JsonObject = WEATHER, **about) -> SchemaTool:
    async def work(arguments: JsonObject, context: ToolContext) -> object:
        return {"asked": arguments, "by": context.call_id}

    return SchemaTool("get_weather", "Tells the weather.", schema, work, **about)


async def test_a_tool_from_elsewhere_gets_what_fits_its_schema(tmp_path: Path):
    answer = await output(foreign(), tmp_path, city="Ulm")

    assert answer.details == {"asked": {"city": "Ulm", "days": 1}, "by": "call/1"}
    with pytest.raises(InvalidArguments, match=r"city: must be string, not integer 1"):
        foreign().validate({"city": 1})


def test_a_tool_from_elsewhere_is_asked_about_unless_told_otherwise():
    assert (foreign().risk({}).level, foreign().mutates, foreign().label) == ("execute", True, "Get weather")
    trusted = foreign(risk="read", label="Weather", cacheable=True)
    assert (trusted.risk({}).level, trusted.mutates, trusted.label) == ("read", False, "Weather")
    assert trusted.risk({}).cacheable


async def test_a_wrong_schema_of_a_tool_from_elsewhere_fails_its_calls_and_not_the_run(make_agent, record):
    agent = make_agent(calls("get_weather"), "Oh.", tools=[foreign({"type": "objekt"})])
    seen = record(agent)

    await agent.prompt("How is the weather?")

    assert "the schema of get_weather is wrong" in results_of(agent)[0].text
    assert [name for name in seen.names if name != "MessageUpdate"] == ["AgentStart", *TURN, *CALLED, *LAST]
