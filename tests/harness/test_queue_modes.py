from __future__ import annotations

import pytest
from fakes.runs import texts_of

HEARD = ["MessageStart", "MessageEnd"]
REST = ["RequestStart", *HEARD, "UsageUpdate", "TurnEnd"]
TURN = ["TurnStart", *HEARD, *REST]
TURN_OF_TWO = ["TurnStart", *HEARD, *HEARD, *REST]


def brief(seen) -> list[str]:
    return [name for name in seen.names if name != "MessageUpdate"]


@pytest.mark.parametrize("queue", ["steering", "follow_up"])
async def test_mode_one_delivers_one_message_per_turn(make_agent, record, queue):
    agent = make_agent("hello", "first", "second", **{queue: "one"})
    say = agent.steer if queue == "steering" else agent.follow_up
    say("one thing")
    say("another")
    seen = record(agent)

    await agent.prompt("go")

    assert brief(seen) == ["AgentStart", *TURN * 3, "AgentEnd"]
    assert texts_of(agent) == ["go", "one thing", "another"]


@pytest.mark.parametrize("queue", ["steering", "follow_up"])
async def test_mode_all_delivers_all_messages_together(make_agent, record, queue):
    agent = make_agent("hello", "to both", **{queue: "all"})
    say = agent.steer if queue == "steering" else agent.follow_up
    say("one thing")
    say("another")
    seen = record(agent)

    await agent.prompt("go")

    assert brief(seen) == ["AgentStart", *TURN, *TURN_OF_TWO, "AgentEnd"]
    assert texts_of(agent) == ["go", "one thing", "another"]


async def test_steering_is_delivered_before_older_follow_ups(make_agent, record):
    agent = make_agent("hello", "first", "second")
    agent.follow_up("then run the tests")
    agent.steer("stop, explain first")
    seen = record(agent)

    await agent.prompt("go")

    assert brief(seen) == ["AgentStart", *TURN * 3, "AgentEnd"]
    assert texts_of(agent) == ["go", "stop, explain first", "then run the tests"]
