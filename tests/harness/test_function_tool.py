from __future__ import annotations

import asyncio
import functools
import threading
from pathlib import Path

import pytest
from fakes.contexts import tool_context
from fakes.own_tools import ASKED, BEGUN, CALLED, LAST, Colour, Part, Place, Till, forecast, output, whole
from fakes.runs import calls, results_of

from harness.function_tools.function_tool import FunctionTool, tool
from harness.messages import Image, Text
from harness.ports.tool import ToolOutput
from harness.views import TextView
from providers.demo import Call, Reply

PIXEL = Image("image/png", "iVBORw0KGgo=")


def plain(*, returns: object) -> FunctionTool:
    @tool
    def give() -> object:
        return returns

    return give


def test_function_metadata_is_used_and_approval_is_required_by_default():
    launch = tool(Till().add)

    assert (launch.name, launch.label, launch.description) == ("add", "Add", "Adds to the sum.")
    assert (launch.risk({}).level, launch.mutates) == ("execute", True)
    assert (forecast.risk({}).level, forecast.mutates) == ("read", False)


def test_explicit_tool_options_override_function_metadata():
    @tool(name="other", label="Another", description="Is another.", risk="read", mutates=True, cacheable=True)
    def one(a: int) -> int:
        """One."""
        return a

    assert (one.name, one.label, one.description, one.mutates) == ("other", "Another", "Is another.", True)
    assert one.risk({}).cacheable


async def test_json_string_argument_is_decoded(tmp_path: Path):
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
        (Place(1, 2), (Text('{"x": 1, "y": 2}'),), {"x": 1, "y": 2}),
        (Part(name="a"), (Text('{"name": "a", "parts": []}'),), {"name": "a", "parts": []}),
        (Colour.RED, (Text('"red"'),), {"value": "red"}),
    ],
)
async def test_return_value_becomes_output(tmp_path: Path, returned: object, content: tuple, details):
    answer = await output(plain(returns=returned), tmp_path)

    assert (answer.content, answer.details) == (content, details)


async def test_unreadable_return_value_is_not_output(tmp_path: Path):
    with pytest.raises(TypeError, match="a tool cannot return a object"):
        await output(plain(returns=object()), tmp_path)


async def test_sync_function_does_not_block_the_event_loop(tmp_path: Path):
    released = threading.Event()

    @tool
    def wait() -> str:
        return str(released.wait(5))

    waiting = asyncio.create_task(output(wait, tmp_path))
    await asyncio.sleep(0)
    released.set()

    assert (await waiting).content == (Text("True"),)


async def test_function_can_return_an_awaitable(tmp_path: Path):
    async def later(word: str) -> str:
        return word

    @tool
    def give(word: str) -> object:
        return later(word)

    assert (await output(give, tmp_path, word="a")).content == (Text("a"),)
    bound = tool(name="bound")(functools.partial(later))
    assert (await output(bound, tmp_path, word="b")).content == (Text("b"),)


async def test_function_raising_stop_iteration_fails_without_hanging(tmp_path: Path):
    @tool
    def take() -> str:
        return next(iter([]))

    async with asyncio.timeout(5):
        with pytest.raises(RuntimeError, match="raised StopIteration"):
            await output(take, tmp_path)


async def test_bound_methods_and_callable_objects_can_be_tools(tmp_path: Path):
    till = Till()
    add, call = tool(till.add), tool(name="till")(till)

    await output(add, tmp_path, amount=2)
    answer = await output(call, tmp_path, amount=3)

    assert (add.name, add.description, answer.details) == ("add", "Adds to the sum.", {"value": 5})


async def test_decorated_tool_is_still_callable():
    assert await forecast("Ulm", days=2) == "2 days of rain in Ulm"
    assert forecast.__name__ == "forecast"
    assert forecast.__doc__ == "Tells the weather."


async def test_tool_previews_its_effect(tmp_path: Path):
    assert forecast.summary({"days": 2, "city": "Ulm\nand more"}) == "Ulm and more"
    assert forecast.summary({"days": 2}) == '{"days": 2}'
    assert forecast.summary({}) == ""
    assert len(forecast.summary({"city": "x" * 1000})) == 80
    assert await forecast.preview({"city": "Ulm"}, tool_context(tmp_path)) == TextView('{\n  "city": "Ulm"\n}', "json")


async def test_agent_calls_a_function(make_agent, record):
    agent = make_agent(calls("forecast", city="Ulm"), "It rains.", tools=[forecast])
    seen = record(agent)

    await agent.prompt("How is the weather?")

    assert whole(seen.names) == [*BEGUN, *CALLED, *LAST]
    assert results_of(agent)[0].text == "1 days of rain in Ulm"


async def test_function_without_declared_risk_requires_approval(make_agent, record, user):
    ran: list[int] = []

    @tool
    def launch(count: int) -> None:
        ran.append(count)

    user.deny("not now")
    agent = make_agent(Reply((Call("launch", {"count": 1}),)), "Then not.", tools=[launch])
    seen = record(agent)

    await agent.prompt("Launch it")

    assert not ran
    assert user.asked[0].summary == '{"count": 1}'
    assert whole(seen.names) == [*BEGUN, CALLED[0], *ASKED, *CALLED[1:], *LAST]


async def test_exception_in_a_function_is_reported_to_the_model(make_agent, record):
    @tool(risk="none")
    def divide(a: int, b: int) -> float:
        return a / b

    agent = make_agent(Reply((Call("divide", {"a": 1, "b": 0}),)), "Infinity?", tools=[divide])
    seen = record(agent)

    await agent.prompt("Divide")

    reported = results_of(agent)[0]
    assert (reported.is_error, reported.text) == (True, "divide failed: ZeroDivisionError: division by zero")
    assert whole(seen.names) == [*BEGUN, *CALLED, *LAST]


async def test_function_can_end_the_run(make_agent, record):
    @tool(risk="none")
    def finish() -> ToolOutput:
        return ToolOutput((Text("done"),), terminate=True)

    agent = make_agent(calls("finish"), "never asked for", tools=[finish])
    seen = record(agent)

    await agent.prompt("Finish")

    assert whole(seen.names) == [*BEGUN, *CALLED, "AgentEnd"]
