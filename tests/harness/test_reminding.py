from __future__ import annotations

from fakes.runs import texts_of


async def test_what_the_program_has_to_say_is_heard_with_the_next_prompt_and_begins_no_run(make_agent, requests):
    agent = make_agent("one", "two")
    await agent.prompt("first")

    agent.add_reminder("the person put a.py back")
    asked = len(requests(agent))
    await agent.prompt("second")

    assert asked == 1
    assert texts_of(agent) == ["first", "second", "the person put a.py back"]
    assert agent.history.messages[-2].synthetic
