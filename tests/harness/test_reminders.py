from __future__ import annotations

from fakes.runs import texts_of


async def test_reminder_is_sent_with_the_next_prompt_and_starts_no_run(make_agent, requests):
    agent = make_agent("one", "two")
    await agent.prompt("first")

    agent.add_reminder("the user restored a.py")
    asked = len(requests(agent))
    await agent.prompt("second")

    assert asked == 1
    assert texts_of(agent) == ["first", "second", "the user restored a.py"]
    assert agent.history.messages[-2].synthetic
