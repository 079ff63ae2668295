from __future__ import annotations

import pytest
from fakes.runs import results_of
from fakes.simple_tools import SimpleTool

from harness.codec import decode, encode
from harness.events import Event
from providers.demo import Call, Hang, Reply

ENDS = ["ToolExecutionStart", "ToolExecutionEnd", "TurnEnd", "AgentEnd"]


@pytest.mark.parametrize(
    ("written", "reported"),
    [
        ('{"x": ' + "[" * 100_000 + "]" * 100_000 + "}", "nested deeper than 100 levels"),
        ('{"x": ' + "[" * 200 + "]" * 200 + "}", "nested deeper than 100 levels"),
        ('{"x": ' + "[" * 100_000, "nested deeper than 100 levels"),
        ('{"x": NaN}', "NaN is not a valid JSON number"),
        ('{"x": 1e999}', "1e999 is not a valid JSON number"),
        ("[1]", "they are not an object"),
        ('{"x": ' + "9" * 5_000 + "}", "4300 digits"),
    ],
    ids=["very deep", "deep", "unclosed", "NaN", "infinity", "list", "long number"],
)
async def test_invalid_json_arguments_do_not_run_and_can_be_serialized(make_agent, record, written, reported):
    look = SimpleTool("look")
    agent = make_agent(Reply((Call("look", {}, raw=written),)), "done", tools=[look])
    seen = record(agent)

    result = await agent.prompt("hi")

    assert (result.text, look.ran) == ("done", [])
    assert reported in results_of(agent)[0].text
    assert [decode(Event, encode(event)) for event in seen.events] == seen.events
    assert [name for name in seen.names if name in ENDS] == [ENDS[0], ENDS[1], "TurnEnd", "TurnEnd", "AgentEnd"]


async def test_arguments_nested_a_hundred_levels_deep_are_accepted(make_agent):
    look = SimpleTool("look")
    agent = make_agent(Reply((Call("look", {}, raw='{"x": ' + "[" * 99 + "]" * 99 + "}"),)), "done", tools=[look])

    await agent.prompt("hi")

    assert len(look.ran) == 1


async def test_brackets_in_a_string_do_not_count_as_nesting(make_agent):
    look = SimpleTool("look")
    agent = make_agent(Reply((Call("look", {"text": "[" * 500}),)), "done", tools=[look])

    await agent.prompt("hi")

    assert look.ran == [{"text": "[" * 500}]


async def test_abort_while_nested_arguments_stream_ends_the_run(make_agent, record):
    agent = make_agent(Reply((Call("look", {}, raw="[" * 100_000), Hang())))
    seen = record(agent)
    agent.subscribe(lambda event: agent.abort() if type(event).__name__ == "MessageUpdate" else None)

    result = await agent.prompt("hi")

    assert result.stop_reason == "aborted"
    assert seen.names[-3:] == ["MessageEnd", "TurnEnd", "AgentEnd"]


@pytest.mark.parametrize(("parts", "ran"), [(1, 0), (2, 1)])
async def test_last_call_of_a_truncated_reply_without_arguments_does_not_run(make_agent, parts, ran):
    look = SimpleTool("look")
    cut = Reply((Call("look", {}, raw=""),) * parts, stop_reason="length")
    agent = make_agent(cut, "done", tools=[look])

    result = await agent.prompt("hi")

    assert (result.text, len(look.ran)) == ("done", ran)
    assert "incomplete due to max tokens" in results_of(agent)[-1].text
