"""Entry points of the loop: functions over plain data (PRD 12.1)."""

from __future__ import annotations

import pytest
from fakes.runs import calls
from fakes.simple_tools import SimpleTool

from harness import AgentContext, AgentOptions, agent_loop, agent_loop_continue
from harness.errors import InvalidContinue, NoMessages
from harness.events import AgentEnd, AgentStart, MessageEnd
from harness.messages import AssistantMessage, Text, ToolCall, ToolResult, user
from providers.demo import scripted

CALL = ToolCall("c1", "look", {})
ASKED = (user("Look."), AssistantMessage((CALL,), "m", "demo", stop_reason="tool_use"))
SEEN = (*ASKED, ToolResult("c1", "look", (Text("seen"),)))


async def test_agent_loop_adds_the_prompt_and_yields_events_until_the_end():
    model = scripted(calls("look"), "done")
    context = AgentContext("You help.", SEEN, [SimpleTool("look")])

    events = [event async for event in agent_loop("And now?", context, model)]

    assert isinstance(events[0], AgentStart)
    end = events[-1]
    assert isinstance(end, AgentEnd)
    assert [type(each).__name__ for each in end.messages] == [
        "UserMessage",
        "AssistantMessage",
        "ToolResult",
        "AssistantMessage",
    ]
    assert [event.message for event in events if isinstance(event, MessageEnd)] == list(end.messages)
    request = model.provider.requests[0]
    assert (request.system, request.messages[:3]) == ("You help.", SEEN)
    assert request.messages[3].text == "And now?"
    assert context.messages == SEEN


async def test_agent_loop_continue_adds_no_message():
    model = scripted("It is there.")
    run = agent_loop_continue(AgentContext("You help.", SEEN), model, AgentOptions(max_tokens=50))

    async for _ in run:
        pass

    assert [each.text for each in run.result.messages] == ["It is there."]
    assert model.provider.requests[0].messages == SEEN
    assert model.provider.requests[0].max_tokens == 50


@pytest.mark.parametrize(
    ("messages", "error"),
    [((), NoMessages), ((*SEEN, AssistantMessage((Text("Done."),), "m", "demo")), InvalidContinue)],
)
async def test_agent_loop_continue_rejects_an_unfinished_history(messages, error):
    with pytest.raises(error):
        await anext(agent_loop_continue(AgentContext(messages=messages), scripted("never")))


async def test_agent_loop_uses_the_callbacks_of_the_loop_config():
    given = [["then this"], []]
    options = AgentOptions(get_follow_up_messages=lambda: [user(text) for text in given.pop(0)])
    run = agent_loop("go", AgentContext(), scripted("one", "two"), options)

    async for _ in run:
        pass

    assert [each.text for each in run.result.messages] == ["go", "one", "then this", "two"]
