"""Tools that search and edit the conversation of a real agent."""

from __future__ import annotations

import pytest
from fakes.invariants import check_request
from fakes.simple_tools import SimpleTool
from hypothesis import given, settings
from hypothesis import strategies as st

from harness.agent.agent import Agent
from harness.agent.conversation import RunConversation
from harness.agent.run_state import RunRequest
from harness.context.grouping import message_groups
from harness.events import CompactionEnd
from harness.messages import AssistantMessage, CustomMessage, Message, Text, ToolCall, ToolResult, user
from harness.ports.session_store import InMemorySessionStore
from harness.ports.tool import ToolOutput
from providers.demo import scripted
from providers.demo.provider import Call, Reply, Say
from tools.prun import PrunTool, PrunWithMemoTool
from tools.recall import RecallTool
from tools.revert import RevertTool

LONG = "The port is 8421. " + "x" * 4_000
TOOLS = (RecallTool(), PrunTool(), PrunWithMemoTool(), RevertTool())


def call(name: str, number: int = 0, **arguments: object) -> Reply:
    return Reply((Call(name, arguments, f"{name}-{number}"),))


@pytest.fixture
def agent_of(make_agent):
    def make(*script: Reply | str):
        return make_agent(*script, tools=[SimpleTool("look", lambda *_: done()), *TOOLS])

    async def done() -> ToolOutput:
        return ToolOutput.text(LONG)

    return make


def shown(messages: tuple[Message, ...]) -> list[str]:
    return ["".join(each.text for each in message.content if isinstance(each, Text))[:17] for message in messages]


def sent(agent: Agent) -> list[tuple[str, object]]:
    """Return what models see; the session stores the time of a note with the event."""
    return [(each.id, each.content) for each in agent.context_messages if not isinstance(each, CustomMessage)]


async def test_removed_turns_leave_the_next_request_and_are_recalled(agent_of, record, requests):
    agent = agent_of(
        call("look", 1),
        call("look", 2),
        call("prun_with_memo", tokens=1_500, memo="The port is in the settings."),
        call("recall", query="8421"),
        "done",
    )
    events = record(agent)

    result = await agent.prompt("Which port?")

    after = requests(agent)[3].messages
    check_request(requests(agent)[3])
    assert result.text == "done"
    assert shown(after) == ["Which port?", "[Memo: The port i", "", "Removed 4 message"]
    assert len(agent.messages) == 10
    assert requests(agent)[4].messages[-1].text.count("result of look") == 2
    (end,) = events.of(CompactionEnd)
    assert (end.reason, end.replaced) == ("tool", 4)
    assert end.tokens < end.tokens_before - 1_500
    assert agent.undo_compaction()
    assert agent.context_messages == agent.messages


async def test_edits_of_the_context_survive_a_resume(agent_of):
    store = InMemorySessionStore()
    agent = agent_of(
        call("look", 1),
        call("look", 2),
        call("revert_to_state", category="failure", step="n1", summary="Looking twice is useless."),
        Reply((Say("still here"), Call("look", {}, "look-3"))),
        call("look", 4),
        call("prun", tokens=100_000),
        "done",
    )
    await agent.open_session(store)
    await agent.prompt("Which port?")
    await agent.close()

    later = agent_of("done")
    assert await later.open_session(store, agent.session_id)

    assert sent(later) == sent(agent)
    texts = shown(tuple(later.context_messages))
    assert texts[:3] == ["Which port?", "[8 messages were ", "[Lesson: Looking "]
    assert len(later.messages) == 14


async def test_refused_edit_is_an_error_for_the_model(agent_of, requests):
    agent = agent_of("First.", call("revert_to_state", category="tangent", step="n9", summary="s"), "done")
    await agent.prompt("one")

    await agent.prompt("two")

    (result,) = [each for each in agent.messages if isinstance(each, ToolResult)]
    assert result.is_error
    assert "n1: First." in result.text
    assert not agent.state.context.overlay.compactions


@settings(max_examples=60, deadline=None)
@given(st.lists(st.lists(st.integers(0, 11), min_size=1, max_size=6), max_size=5), st.data())
async def test_any_edits_of_the_context_survive_a_resume(edits: list[list[int]], data: st.DataObject):
    messages: list[Message] = [user("one")]
    for number in range(6):
        look = ToolCall(f"c{number}", "look", {})
        messages += [
            AssistantMessage((look,)),
            ToolResult(look.id, "look", (Text("x"),)),
            AssistantMessage((Text("y"),)),
        ]
    store = InMemorySessionStore()
    agent = Agent(scripted("done"), (), "s")
    await agent.open_session(store)
    agent.append_messages(messages)
    for at, places in enumerate(edits):
        groups = message_groups(list(agent.context_messages))
        chosen = {each.id for place in places if 0 < place < len(groups) for each in groups[place]}
        if chosen:
            RunConversation(agent._new_run(RunRequest())).replace(chosen, f"note {at}")
        if data.draw(st.booleans()):
            agent.undo_compaction()
    await agent.close()

    later = Agent(scripted("done"), (), "s")
    assert await later.open_session(store, agent.session_id)

    assert sent(later) == sent(agent)
