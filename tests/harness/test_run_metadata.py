"""Metadata of a run besides its messages (H10: phi 4, swink 7.1, cinch-rs 3.8)."""

from __future__ import annotations

import json

import pytest
from fakes.family import cast, delegates
from fakes.runs import calls
from fakes.simple_tools import SimpleTool

from harness.agent.routing import ByTurn, Routing
from harness.approval.modes import PLAN
from harness.codec import decode, encode
from harness.events import (
    AgentStart,
    Continuation,
    Event,
    RunConfig,
    ToolApprovalRequested,
    ToolCallsReceived,
    UsageUpdate,
)
from harness.messages import Usage
from harness.tracing.recorder import TraceRecorder
from harness.tracing.records import SessionTrace
from providers.demo import scripted
from tools.delegate import DelegateTool

ORDER = {"ticket": 7, "labels": ["a", None]}


async def test_run_metadata_is_in_its_start_event_requests_and_record(make_agent, record, requests):
    agent = make_agent(calls("look"), "one", "two", tools=[SimpleTool("look")])
    seen, recorder = record(agent), TraceRecorder()
    agent.subscribe(recorder.on_event)

    await agent.prompt("go", metadata=ORDER)
    await agent.prompt("again")

    assert [event.metadata for event in seen.of(AgentStart)] == [ORDER, {}]
    assert [request.metadata for request in requests(agent)] == [ORDER, ORDER, {}]
    session = recorder.get_session(agent.session_id)
    assert [loop.metadata for loop in session.runs] == [ORDER, {}]
    assert decode(SessionTrace, json.loads(json.dumps(encode(session)))) == session
    start = seen.of(AgentStart)[0]
    assert decode(Event, json.loads(json.dumps(encode(start)))) == start


async def test_every_method_that_starts_a_run_takes_metadata(make_agent, record):
    agent = make_agent("one", "two", "three")
    seen = record(agent)

    async for _ in agent.stream("go", metadata=ORDER):
        pass
    agent.follow_up("and")
    await agent.continue_run(metadata=ORDER)
    agent.follow_up("then")
    async for _ in agent.stream(Continuation(), metadata=ORDER):
        pass

    assert [event.metadata for event in seen.of(AgentStart)] == [ORDER] * 3


def test_prompt_sync_takes_metadata(make_agent, record):
    agent = make_agent("one")
    seen = record(agent)

    agent.prompt_sync("go", metadata=ORDER)

    assert seen.of(AgentStart)[0].metadata == ORDER


async def test_configuration_of_a_run_is_recorded_as_it_was_at_its_start(make_agent, record):
    tools = [SimpleTool("look"), SimpleTool("write", risk="edit")]
    agent = make_agent("one", "two", tools=tools, max_tokens=100, temperature=0.5, config_id="fast", approval="on")
    seen, recorder = record(agent), TraceRecorder()
    agent.subscribe(recorder.on_event)

    await agent.prompt("go")
    agent.set_mode(PLAN)
    agent.state.max_tokens = None
    await agent.prompt("plan")

    first, second = (event.config for event in seen.of(AgentStart))
    assert first == RunConfig(
        "fast", 100, 0.5, agent.state.model_info.context_window, "execute", "on", ("look", "write")
    )
    assert (second.mode, second.max_tokens, second.tools) == ("plan", None, ("look", "write"))
    loops = recorder.get_session(agent.session_id).runs
    assert [loop.settings for loop in loops] == [first, second]
    assert loops[0].config == agent.state.model.spec


async def test_transport_is_passed_to_the_provider(make_agent, requests):
    usual, other = make_agent("one"), make_agent("one", transport="websocket")

    await usual.prompt("go")
    await other.prompt("go")

    assert (requests(usual)[0].transport, requests(other)[0].transport) == ("sse", "websocket")


async def test_routing_receives_whether_a_subagent_asks(make_agent):
    model = cast({"go": [delegates("dig"), "Thanks."], "dig": ["Found it."]})
    asked: list[tuple[int, bool]] = []

    class Watching:
        models = (model,)

        def model_for(self, turn, *, is_subagent):
            asked.append((turn, is_subagent))
            return model

    routing: Routing = Watching()
    agent = make_agent(model=model, tools=[DelegateTool()], routing=routing)

    await agent.prompt("go")

    assert list(dict.fromkeys(asked)) == [(1, False), (1, True), (2, False)]


def test_built_in_routings_accept_a_call_without_that_argument():
    cheap, strong = scripted("a"), scripted("b")

    assert ByTurn(cheap, {2: strong}).model_for(2) is strong
    assert ByTurn(cheap, {2: strong}).model_for(1, is_subagent=True) is cheap


@pytest.mark.parametrize(
    ("usage", "rate"),
    [
        (Usage(), 0.0),
        (Usage(input=10, output=90), 0.0),
        (Usage(input=10, cache_read=80, cache_write=10, output=500), 0.8),
        (Usage(cache_read=5), 1.0),
    ],
)
def test_cache_hit_rate_is_the_cached_fraction_of_the_input(usage, rate):
    assert usage.cache_hit_rate() == pytest.approx(rate)


async def test_calls_of_a_reply_are_announced_before_any_decision(make_agent, record, user):
    tools = [SimpleTool("look"), SimpleTool("write", risk="edit")]
    agent = make_agent(calls("write", "look"), calls("look"), "done", tools=tools)
    seen = record(agent)

    await agent.prompt("go")

    received = seen.of(ToolCallsReceived)
    assert [(event.count, event.turn) for event in received] == [(2, 1), (1, 2)]
    assert seen.of(UsageUpdate)[0].seq < received[0].seq < seen.of(ToolApprovalRequested)[0].seq
