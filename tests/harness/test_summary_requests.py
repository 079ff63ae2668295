from __future__ import annotations

from fakes.long_talk import is_for_summary, reading
from fakes.runs import calls
from fakes.simple_tools import SimpleTool

from harness.context.policy import ContextPolicy
from harness.ports.tool import ToolOutput
from providers.demo import Reply, Say

CALL = calls("read_file", path="next.py").parts
SUMMARY = "## Decided\nThe parser stays recursive, because the grammar is small."


async def test_summary_is_asked_for_behind_the_request_that_the_cache_knows(agent_with, requests):
    async def read(arguments, context) -> ToolOutput:
        return ToolOutput.text("y" * 4_000)

    policy = ContextPolicy(window=10_000, reserve=0, evict_at=0, compact_at=0.5)
    tools = [SimpleTool("read_file", read)]
    replies = [Reply((Say("next"), *CALL)) for _ in range(5)]
    agent = agent_with(reading(4, 300), *replies, "done", summaries=[SUMMARY], window=policy, tools=tools)

    await agent.prompt("go on")

    sent = requests(agent)
    place = next(index for index, each in enumerate(sent) if is_for_summary(each))
    before, asked, after = sent[place - 1 : place + 2]
    assert (asked.system, asked.tools, asked.spec) == (before.system, before.tools, before.spec)
    assert asked.messages[: len(before.messages)] == before.messages
    assert asked.messages[len(before.messages) : -1] == after.messages[-2:]
    assert "<context_summary>" in after.messages[1].text


async def test_summary_of_a_text_follows_if_the_conversation_gives_none(agent_with, requests):
    agent = agent_with(reading(16, 300), summaries=["", SUMMARY])

    assert await agent.compact() is not None

    first, second = requests(agent)
    assert len(first.messages) > 30
    assert "<conversation>" in second.messages[0].text
