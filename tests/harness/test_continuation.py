from __future__ import annotations

import pytest
from fakes.runs import calls, texts_of
from fakes.simple_tools import SimpleTool

from harness.errors import ConfigError, InvalidContinue, NoMessages, RequestRejected
from harness.events import AgentStart, Continuation, TurnStart
from harness.messages import AssistantMessage, Text, ToolCall, ToolResult, user
from providers.demo import Break, Reply, scripted

FAILS = Reply((Break(RequestRejected("no")),))


async def test_runs_are_numbered_within_their_session_and_configuration(make_agent, record):
    agent = make_agent("one", "two", "three")
    seen = record(agent)

    await agent.prompt("a")
    await agent.prompt("b")
    agent.set_model(scripted("four", name="other"))
    await agent.prompt("c")

    first, second, third = (event.run_id for event in seen.of(AgentStart))
    assert first.startswith(f"{agent.session_id}.")
    assert (first.rpartition(".")[2], second.rpartition(".")[2], third.rpartition(".")[2]) == ("1", "2", "1")
    assert first.rpartition(".")[0] == second.rpartition(".")[0] != third.rpartition(".")[0]
    assert {event.agent_id for event in seen.of(AgentStart)} == {agent.agent_id}
    assert {event.run_id for event in seen.events} == {first, second, third, second}


async def test_named_configuration_is_part_of_its_run_ids(make_agent, record):
    agent = make_agent("one", config_id="fast", session_id="S")
    seen = record(agent)

    await agent.prompt("a")

    assert seen.of(AgentStart)[0].run_id == "S.fast.1"


async def test_prompt_has_no_parent_and_a_continuation_has_the_previous_run(make_agent, record):
    agent = make_agent("one", FAILS, "two", config_id="c", session_id="S")
    seen = record(agent)

    await agent.prompt("a")
    await agent.prompt("b")
    await agent.continue_run()

    assert [(event.parent_run_id, event.continuation and event.continuation.kind) for event in seen.of(AgentStart)] == [
        ("", None),
        ("", None),
        ("S.c.2", "default"),
    ]


@pytest.mark.parametrize(
    ("kind", "trigger"), [("default", "continuation"), ("rerun", "continuation"), ("branch", "branch")]
)
async def test_continuation_kind_is_published_and_triggers_its_first_turn(make_agent, record, kind, trigger):
    agent = make_agent(calls("look"), "done", tools=[SimpleTool("look")], messages=[user("go")])
    seen = record(agent)

    await agent.continue_run(Continuation(kind))

    start = seen.of(AgentStart)[0]
    assert start.continuation.kind == kind
    assert start.continuation.tag.endswith("+00:00")
    assert [event.trigger for event in seen.of(TurnStart)] == [trigger, "continuation"]


async def test_prompt_is_triggered_by_the_user_and_later_turns_continue(make_agent, record):
    agent = make_agent(calls("look"), "done", tools=[SimpleTool("look")])
    seen = record(agent)

    await agent.prompt("go")

    assert [event.trigger for event in seen.of(TurnStart)] == ["user", "continuation"]


async def test_failed_reply_is_not_resent_on_continue(make_agent, requests):
    agent = make_agent(FAILS, "now it works")

    await agent.prompt("go")
    result = await agent.continue_run()

    assert result.text == "now it works"
    assert [message.text for message in requests(agent)[-1].messages] == ["go"]
    assert texts_of(agent) == ["go"]


async def test_continue_after_unprocessed_tool_results(make_agent, requests):
    call = ToolCall("c1", "look", {})
    history = [user("go"), AssistantMessage((call,), stop_reason="tool_use"), ToolResult("c1", "look", (Text("seen"),))]
    agent = make_agent("I see", messages=history)

    result = await agent.continue_run()

    assert result.text == "I see"
    assert len(requests(agent)[0].messages) == 3


async def test_continue_delivers_queued_messages_even_after_a_final_reply(make_agent):
    agent = make_agent("one", "two")
    await agent.prompt("go")
    agent.follow_up("and the tests")

    result = await agent.continue_run()

    assert result.text == "two"
    assert texts_of(agent) == ["go", "and the tests"]


async def test_continue_without_messages_or_after_a_final_reply_raises(make_agent):
    agent = make_agent("one")
    with pytest.raises(NoMessages):
        await agent.continue_run()
    await agent.prompt("go")

    with pytest.raises(InvalidContinue):
        await agent.continue_run()


def test_continue_works_without_an_event_loop(make_agent):
    agent = make_agent("done", messages=[user("go")])

    assert agent.continue_sync().text == "done"


async def test_new_session_restarts_the_count(make_agent, record):
    agent = make_agent("one", "two", config_id="c")
    seen = record(agent)
    await agent.prompt("a")
    agent_id = agent.agent_id

    session = agent.new_session()
    await agent.prompt("b")

    start = seen.of(AgentStart)[1]
    assert (start.run_id, start.session_id, start.agent_id) == (f"{session}.c.1", session, agent_id)
    assert texts_of(agent) == ["b"]


async def test_idle_agent_rotates_its_session_and_keeps_its_history(make_agent):
    agent = make_agent("one")
    before = agent.session_id
    assert agent.rotate_session_if_idle(0.0) is None
    await agent.prompt("a")

    assert agent.rotate_session_if_idle(3600.0) is None
    rotated = agent.rotate_session_if_idle(-1.0)

    assert rotated == agent.session_id != before
    assert texts_of(agent) == ["a"]


async def test_tools_can_be_added_and_removed_during_a_run(make_agent, requests):
    late = SimpleTool("late")
    agent = make_agent(calls("look"), calls("late"), "done", tools=[SimpleTool("look")])

    async def work(arguments, context):
        agent.add_tool(late)
        agent.remove_tool("look")
        return await SimpleTool("x").run(arguments, context)

    agent.set_tools([SimpleTool("look", work)])
    await agent.prompt("go")

    assert [[tool.name for tool in request.tools] for request in requests(agent)] == [["look"], ["late"], ["late"]]
    assert late.ran == [{}]


async def test_duplicate_tool_names_are_rejected(make_agent):
    agent = make_agent("one", tools=[SimpleTool("look")])

    with pytest.raises(ConfigError, match="look"):
        agent.add_tool(SimpleTool("look"))


async def test_model_and_thinking_level_change_between_turns(make_agent, record):
    second = scripted("from the second")
    agent = make_agent(calls("switch"))

    async def work(arguments, context):
        agent.set_model(second)
        agent.set_thinking("high")
        return await SimpleTool("x").run(arguments, context)

    agent.set_tools([SimpleTool("switch", work)])

    result = await agent.prompt("go")

    assert result.text == "from the second"
    assert second.provider.requests[0].spec.thinking == "high"
