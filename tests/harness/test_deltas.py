from __future__ import annotations

from fakes.simple_tools import SimpleTool

from harness.codec import decode, encode
from harness.deltas import BlockDelta
from harness.events import Event, MessageUpdate
from providers.demo import Call, Reply, Say, Think


async def test_each_delta_carries_the_content_of_its_block(make_agent, record):
    reply = Reply((Think("hm"), Say("Look:"), Call("look", {"at": "it"})))
    agent = make_agent(reply, "done", tools=[SimpleTool("look")])
    events = record(agent)

    await agent.prompt("go")

    streamed = [
        (event.kind, event.delta.text) for event in events.of(MessageUpdate) if isinstance(event.delta, BlockDelta)
    ]
    assert streamed == [("thinking", "hm"), ("text", "Look:"), ("tool_call", '{"at": "it"}'), ("text", "done")]


async def test_delta_content_round_trips_through_json(make_agent, record):
    agent = make_agent(Reply((Think("hm"), Say("yes"))))
    events = record(agent)

    await agent.prompt("go")

    assert [decode(Event, encode(event)) for event in events.events] == events.events
