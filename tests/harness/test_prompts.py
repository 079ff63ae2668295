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
async def test_what_is_no_prompt_is_refused_before_anything_happens(make_agent, record, prompt):
    agent = make_agent("done")
    seen = record(agent)

    with pytest.raises(ConfigError, match="a prompt is"):
        await agent.prompt(prompt)

    assert (seen.names, list(agent.history)) == ([], [])


async def test_nothing_at_all_is_no_prompt(make_agent):
    agent = make_agent("done")

    with pytest.raises(NoMessages):
        await agent.prompt([])

    assert not agent.is_running


async def test_content_and_messages_are_prompts(make_agent):
    agent = make_agent("one", "two", "three")

    await agent.prompt([Text("look: "), Image("image/png", data="aGk=")])
    await agent.prompt(user("a message"))
    await agent.prompt([user("several"), CustomMessage("note", {}), user("messages")])

    assert texts_of(agent) == ["look: ", "a message", "several", "messages"]


def test_what_no_person_says_is_not_queued_and_never_lost_without_a_word(make_agent):
    agent = make_agent("done")

    with pytest.raises(ConfigError, match="only what a person says"):
        agent.steer([user("kept?"), CustomMessage("note", {})])

    assert not agent.has_pending


def test_two_tools_of_one_name_are_refused_from_the_beginning(make_agent):
    with pytest.raises(ConfigError, match="two tools of the same name: look"):
        make_agent("done", tools=[SimpleTool("look"), SimpleTool("look")])
