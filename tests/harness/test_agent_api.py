from __future__ import annotations

from fakes.runs import calls
from fakes.simple_tools import SimpleTool

from harness.events import (
    MessageUpdate,
)
from providers.demo import Hang, Reply, Say


async def test_streaming_hands_out_every_event_up_to_the_end(make_agent):
    agent = make_agent("Hello there, friend.")

    names = [type(event).__name__ async for event in agent.stream("hi")]

    assert names[0] == "AgentStart"
    assert names[-1] == "AgentEnd"
    assert not agent.is_running


async def test_leaving_a_stream_early_aborts_the_run(make_agent):
    agent = make_agent(Reply((Say("a long story"), Hang())))

    events = agent.stream("hi")
    async for event in events:
        if isinstance(event, MessageUpdate):
            break
    await events.aclose()

    assert not agent.is_running


def test_prompting_without_an_event_loop_works_twice(make_agent):
    agent = make_agent(calls("look"), "first", calls("look"), "second", tools=[SimpleTool("look")])

    assert agent.prompt_sync("hi").text == "first"
    assert agent.prompt_sync("hi").text == "second"


async def test_prompting_synchronously_works_beside_a_running_loop(make_agent):
    agent = make_agent("hello")

    assert agent.prompt_sync("hi").text == "hello"


async def test_a_subscriber_that_raises_is_removed_and_the_run_goes_on(make_agent):
    agent = make_agent("hello")
    heard = []

    def broken(event):
        heard.append(event)
        raise RuntimeError("no")

    agent.subscribe(broken)

    assert (await agent.prompt("hi")).text == "hello"
    assert len(heard) == 1
