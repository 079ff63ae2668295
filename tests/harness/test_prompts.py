from __future__ import annotations

import pytest
from fakes.runs import texts_of
from fakes.simple_tools import SimpleTool

from harness.errors import ConfigError, NoMessages
from harness.messages import CustomMessage, Image, Text, user


@pytest.mark.parametrize(
    "prompt",
    [[Text("one"), user("two")], ["one", "two"], [None], {"role": "user", "content": "one"}, b"one"],
)
async def test_invalid_prompt_is_rejected_without_side_effects(make_agent, record, prompt):
    agent = make_agent("done")
    seen = record(agent)

    with pytest.raises(ConfigError, match="a prompt is"):
        await agent.prompt(prompt)

    assert (seen.names, list(agent.history)) == ([], [])


async def test_empty_prompt_is_rejected(make_agent):
    agent = make_agent("done")

    with pytest.raises(NoMessages):
        await agent.prompt([])

    assert not agent.is_running


async def test_content_and_messages_are_valid_prompts(make_agent):
    agent = make_agent("one", "two", "three")

    await agent.prompt([Text("look: "), Image("image/png", data="aGk=")])
    await agent.prompt(user("a message"))
    await agent.prompt([user("several"), CustomMessage("note", {}), user("messages")])

    assert texts_of(agent) == ["look: ", "a message", "several", "messages"]


def test_non_user_messages_cannot_be_queued_and_raise(make_agent):
    agent = make_agent("done")

    with pytest.raises(ConfigError, match="only user messages"):
        agent.steer([user("kept?"), CustomMessage("note", {})])

    assert not agent.has_pending


def test_duplicate_tool_names_raise_in_the_constructor(make_agent):
    with pytest.raises(ConfigError, match="two tools have the same name: look"):
        make_agent("done", tools=[SimpleTool("look"), SimpleTool("look")])
