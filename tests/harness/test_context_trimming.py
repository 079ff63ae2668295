"""Trimming in the course of a conversation: what was left out stays out until the context is full again."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import pytest
from fakes.long_talk import reading
from fakes.runs import calls
from fakes.simple_tools import SimpleTool
from msgspec.structs import replace

from harness.approval.modes import PLAN
from harness.context.policy import NO_STAGES
from harness.errors import ContextWindowOverflow
from harness.events import ContextTrimmed
from harness.messages import CustomMessage, Message
from harness.ports.session_store import InMemorySessionStore
from harness.ports.tool import ToolOutput
from providers.demo import Reply, Say

CALL = calls("read_file", path="next.py").parts


async def _output(arguments: object, context: object) -> ToolOutput:
    return ToolOutput.text("x" * 2_000)


LONG = SimpleTool("read_file", _output)


def sent(messages: Sequence[Message]) -> list[tuple[str, object]]:
    return [(each.id, each.content) for each in messages if not isinstance(each, CustomMessage)]


async def test_trimmed_context_is_the_same_until_the_next_trim_and_after_a_resume(agent_with, record, requests):
    policy, store = replace(NO_STAGES, window=10_000, reserve=0), InMemorySessionStore()
    replies = [Reply((Say("next"), *CALL))] * 24
    agent = agent_with(reading(16, 500), *replies, "done", window=policy, tools=(LONG,))
    await agent.open_session(store)
    seen = record(agent)
    await agent.prompt("go on")
    trims = seen.of(ContextTrimmed)
    pairs = [(sent(one.messages), sent(two.messages)) for one, two in pairwise(requests(agent))]
    breaks = sum(two[: len(one)] != one for one, two in pairs)
    await agent.close()

    later = agent_with((), "again", window=policy)
    await later.open_session(store, agent.session_id)
    await later.prompt("go on")

    last, first = sent(requests(agent)[-1].messages), sent(requests(later)[0].messages)
    assert 2 <= breaks <= len(trims) <= len(pairs) / 3
    assert first[: len(last)] == last
    assert "messages removed to fit" in str(first)


async def test_trimmed_messages_return_when_the_window_grows(agent_with, record, requests):
    agent = agent_with(reading(16, 600), "one", "two", window=replace(NO_STAGES, window=5_000, reserve=0))
    await agent.prompt("go on")
    seen = record(agent)
    agent.options = replace(agent.options, window=replace(NO_STAGES, window=50_000, reserve=0))

    await agent.prompt("now")

    first, second = requests(agent)
    assert len(first.messages) < len(second.messages) == len(agent.messages) - 1
    assert [event.dropped for event in seen.of(ContextTrimmed)] == [0]


async def test_run_ends_if_the_window_has_no_space_for_a_useful_part_of_the_output(agent_with, requests):
    replies = [Reply((Say("next"), *CALL))] * 9
    agent = agent_with((), *replies, window=replace(NO_STAGES, window=2_000, reserve=0), tools=(LONG,))
    agent.set_system_prompt("Be brief. " * 790)

    result = await agent.prompt("read it")

    with pytest.raises(ContextWindowOverflow, match=r"does not fit.* tokens: 1,976 in the system prompt, "):
        result.raise_for_failure()
    assert len(requests(agent)) == 1


async def test_reminder_of_plan_mode_is_never_left_out(agent_with, requests):
    replies = [Reply((Say("next"), *CALL))] * 30
    policy = replace(NO_STAGES, window=6_000, reserve=0, keep_recent=2)
    agent = agent_with((), "begun", *replies, "done", window=policy, mode=PLAN, tools=(LONG,))
    await agent.prompt("begin")

    await agent.prompt("go on")

    texts = ["\n".join(each.text for each in request.messages) for request in requests(agent)]
    assert "messages removed to fit" in texts[-1]
    assert all("[Plan mode is on" in text for text in texts)
