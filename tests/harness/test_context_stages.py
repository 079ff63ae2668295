"""Stages of the context: advice, eviction, compaction and trimming, and what a user changes by hand."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from itertools import pairwise

import pytest
from fakes.invariants import check_request
from fakes.long_talk import is_for_summary, reading
from fakes.runs import calls, until
from fakes.simple_tools import SimpleTool
from msgspec.structs import replace

from harness.agent.retry import RetryPolicy
from harness.context.overlay import DROPPED
from harness.context.policy import NO_STAGES, ContextPolicy
from harness.errors import Aborted, ConfigError, ContextWindowOverflow, NetworkError, RequestRejected
from harness.events import (
    CompactionEnd,
    CompactionStart,
    CompactionUndone,
    ContextTrimmed,
    Evicted,
    HookRan,
    Notice,
    RequestStart,
    UsageAdded,
)
from harness.messages import CustomMessage, Message, ToolCall, ToolResult, Usage, UserMessage
from harness.ports.hooks import Block, Hooks, Inject
from harness.ports.provider import ModelInfo, Request, StaticModelInfo
from harness.ports.session_store import InMemorySessionStore
from harness.ports.tool import ToolOutput
from providers.demo import Break, Hang, Reply, Say, scripted

CALL = calls("read_file", path="next.py").parts
SUMMARY = "## Decided\nThe parser stays recursive, because the grammar is small. Next: tests for nested lists."
WINDOW = ContextPolicy(window=10_000, reserve=0, evict_to=0.6)
COMPACT_ONLY = replace(WINDOW, evict_at=0)


def sizes(request: Request) -> dict[str, int]:
    return {each.id: len(each.text) for each in request.messages if isinstance(each, ToolResult)}


def sent(messages: Sequence[Message]) -> list[tuple[str, object]]:
    """Return what a model receives; the session stores the time of a summary with its event."""
    return [(each.id, each.content) for each in messages if not isinstance(each, CustomMessage)]


def is_advice(message: Message) -> bool:
    return isinstance(message, UserMessage) and message.synthetic and message.text.startswith("[The context is")


async def test_model_is_advised_once_per_level_and_again_after_the_context_shrank(agent_with, record):
    async def read(arguments, context) -> ToolOutput:
        return ToolOutput.text("y" * 1_600)

    replies = [Reply((Say("next"), *CALL)) for _ in range(10)]
    tools = [SimpleTool("read_file", read)]
    agent = agent_with(reading(10, 500), *replies, "done", "more", summaries=[SUMMARY], tools=tools, window=WINDOW)

    await agent.prompt("go on")
    advice = [each.text.partition(":")[0] for each in agent.messages if is_advice(each)]
    assert [text.split()[3] >= "60" for text in advice] == [True] * len(advice)
    assert len(advice) in (2, 3, 4)
    assert [int(text.split()[3]) // 20 for text in advice[:2]] == [3, 4]
    await agent.compact()
    assert is_advice(agent.messages[-1]) is False


async def test_advice_does_not_prolong_a_run(agent_with, requests):
    agent = agent_with(reading(14, 500), "done", "again", window=replace(WINDOW, evict_at=0, compact_at=0))

    await agent.prompt("go on")
    await agent.prompt("and now?")

    assert len(requests(agent)) == 2
    assert sum(map(is_advice, agent.messages)) == 1


async def test_eviction_replaces_the_oldest_output_down_to_its_target(agent_with, record, requests):
    history = reading(16, 550)
    agent = agent_with(history, "done", window=WINDOW)
    seen = record(agent)

    await agent.prompt("go on")

    (evicted,) = seen.of(Evicted)
    (request,) = requests(agent)
    assert evicted.tokens_before > 8_000
    assert evicted.tokens <= 6_000
    assert seen.of(RequestStart)[0].tokens == evicted.tokens
    assert [size > 1_000 for size in sizes(request).values()] == [False] * 6 + [True] * 10
    assert request.messages[2].text == (
        "[Cleared: read_file(src/file0.py) — 2,200 chars. Repeat the call if you need it.]"
    )
    assert agent.messages[2] == history[2]
    assert not seen.of(CompactionStart)
    check_request(request)


async def test_young_output_stays_and_superseded_output_goes_first(agent_with, requests):
    again = reading(16, 550)
    again[-2] = replace(again[-2], content=(ToolCall("r15", "read_file", {"path": "./src/file12.py"}),))
    agent = agent_with(again, "done", window=replace(WINDOW, evict_min_age=3, evict_to=0.82))

    await agent.prompt("go on")

    (request,) = requests(agent)
    gone = [number for number, size in enumerate(sizes(request).values()) if size < 1_000]
    assert gone == [0, 12]


async def test_prefix_is_stable_until_the_next_eviction(agent_with, requests):
    async def read(arguments, context) -> ToolOutput:
        return ToolOutput.text(str(len(requests(agent))).ljust(1_600, "y"))

    replies = [Reply((Say("next"), *CALL)) for _ in range(24)]
    agent = agent_with(reading(10, 400), *replies, "done", tools=[SimpleTool("read_file", read)], window=WINDOW)
    breaks = 0

    await agent.prompt("go on")

    sent = requests(agent)
    for before, after in pairwise(sent):
        breaks += after.messages[: len(before.messages)] != before.messages
    assert len(sent) == 25
    assert 1 <= breaks <= 6
    assert max(sum(sizes(each).values()) for each in sent) < 4 * 8_500


async def test_compaction_summarizes_tool_results_and_keeps_pairs_and_history(agent_with, record, requests):
    history = reading(16, 600)
    agent = agent_with(history, "done", summaries=[SUMMARY], window=COMPACT_ONLY)
    seen = record(agent)

    await agent.prompt("go on")

    summary, request = requests(agent)
    assert "0 xxxx" in summary.messages[0].text
    assert summary.system != request.system
    assert request.messages[0].text == "Fix the parser. Keep it recursive."
    assert request.messages[1].text.startswith("<context_summary>")
    assert "stays recursive" in request.messages[1].text
    assert request.messages[-1].text == "go on"
    check_request(request)
    (end,) = seen.of(CompactionEnd)
    assert (end.reason, end.error) == ("auto", "")
    assert end.tokens_before > 9_000 > end.tokens
    kept = next(place for place, each in enumerate(history) if each.id == request.messages[2].id)
    assert (end.first, end.last, end.kept) == (history[1].id, history[kept - 1].id, ())
    assert [each.source for each in seen.of(UsageAdded)] == ["compaction"]
    assert list(agent.messages[: len(history)]) == history
    assert list(agent.messages[: len(history)]) == history


async def test_compaction_comes_again_only_after_the_cooldown(agent_with, record):
    async def read(arguments, context) -> ToolOutput:
        return ToolOutput.text("y" * 12_000)

    policy = replace(COMPACT_ONLY, compact_cooldown=3, tool_output_lines=0)
    replies = [Reply((Say("next"), *CALL)) for _ in range(10)]
    tools = [SimpleTool("read_file", read)]
    agent = agent_with(reading(16, 600), *replies, "done", summaries=[SUMMARY] * 9, tools=tools, window=policy)
    seen = record(agent)

    await agent.prompt("go on")

    turns = [event.turn for event in seen.of(CompactionStart)]
    assert turns[0] == 1
    assert all(later - earlier >= 3 for earlier, later in pairwise(turns))
    assert len(turns) >= 2


async def test_three_failures_fall_back_to_trimming_with_a_notice(agent_with, record, requests):
    broken = Reply((Break(RequestRejected("no such model")),))
    replies = [Reply((Say("next"), *CALL)), "done"]
    agent = agent_with(reading(20, 600), *replies, summaries=[broken] * 9, window=COMPACT_ONLY)
    seen = record(agent)

    result = await agent.prompt("go on")

    asked = [each for each in requests(agent) if is_for_summary(each)]
    assert result.text == "done"
    assert len(asked) == 3
    assert "failed 3 times. From now on" in seen.of(Notice)[0].text
    assert seen.of(CompactionEnd)[0].error == "no such model"
    assert seen.of(ContextTrimmed)
    assert all(event.tokens <= 10_000 for event in seen.of(RequestStart))


async def test_service_that_is_down_is_asked_once_and_unlimited_failures_end(agent_with, requests):
    down = Reply((Break(NetworkError("gone")),))
    once = replace(COMPACT_ONLY, compact_failures=0)
    agent = agent_with(reading(20, 600), "done", summaries=[down] * 9, window=once, retry=RetryPolicy(max_retries=0))
    await agent.prompt("go on")
    assert len(requests(agent)) == 2

    agent = agent_with(reading(20, 600), "done", summaries=["!"] * 9, window=once)
    await agent.prompt("go on")
    assert len(requests(agent)) == 4
    agent.reset()
    assert not agent.state.context.overlay


async def test_overflow_compacts_once_and_the_second_overflow_is_an_error(agent_with, record, requests):
    too_long = Reply((Break(ContextWindowOverflow("too long")),))
    policy = ContextPolicy(evict_at=0)
    agent = agent_with(reading(16, 400), too_long, "done", summaries=[SUMMARY], window=policy)
    seen = record(agent)

    result = await agent.prompt("go on")

    assert result.text == "done"
    assert [event.reason for event in seen.of(CompactionEnd)] == ["overflow"]
    assert "<context_summary>" in requests(agent)[-1].messages[1].text

    agent = agent_with(reading(16, 400), too_long, too_long, summaries=[SUMMARY], window=policy)
    with pytest.raises(ContextWindowOverflow, match=r"too long.* tokens: .* in results of read_file"):
        (await agent.prompt("go on")).raise_for_failure()


async def test_manual_compaction_with_focus_undo_and_edit(agent_with, record, requests):
    agent = agent_with(reading(16, 300), "done", "more", summaries=[SUMMARY])
    seen = record(agent)
    before = agent.context_messages

    compaction = await agent.compact("the lexer")

    (asked,) = requests(agent)
    assert "<focus>\nthe lexer\n</focus>" in asked.messages[-1].text
    assert compaction is not None
    assert "stays recursive" in agent.context_messages[1].text
    edited = agent.replace_summary("Everything is iterative now.")
    assert "iterative now" in agent.context_messages[1].text
    assert "recursive, because" not in agent.context_messages[1].text
    assert agent.undo_compaction()
    assert list(agent.context_messages) == list(before)
    assert not agent.undo_compaction()
    assert [type(event) for event in seen.events[-3:]] == [CompactionUndone, CompactionEnd, CompactionUndone]
    assert seen.of(CompactionEnd)[-1].summary_id == edited.summary.id
    with pytest.raises(ConfigError):
        agent.replace_summary("nothing to replace")


async def test_aborted_compaction_changes_nothing(agent_with, record):
    agent = agent_with(reading(16, 300), summaries=[Reply((Say("## Dec"), Hang()))])
    seen = record(agent)
    before = agent.context_messages

    compaction = asyncio.create_task(agent.compact())
    await until(lambda: seen.of(CompactionStart) and agent.is_running)
    agent.abort()

    with pytest.raises(Aborted):
        await compaction
    assert (agent.context_messages, agent.is_running) == (before, False)
    (end,) = seen.of(CompactionEnd)
    assert (end.error, end.is_aborted) == ("the compaction was aborted", True)


async def test_summary_is_written_by_the_compact_model_and_by_the_agents_own_if_it_fails(agent_with, requests):
    other = replace(scripted(Reply((Break(RequestRejected("no")),)), name="cheap"))
    agent = agent_with(reading(16, 300), summaries=[SUMMARY], compact_model=other)

    assert await agent.compact() is not None

    assert len(other.provider.requests) == 1
    assert len(requests(agent)) == 1


async def test_hook_can_prevent_a_compaction_or_add_instructions(agent_with, record, requests):
    class Compacting(Hooks):
        verdict: Block | Inject = Block("not now")

        async def before_compact(self, trigger, tokens) -> Block | Inject:
            assert (trigger, tokens > 1_000) == ("manual", True)
            return self.verdict

    hook = Compacting()
    agent = agent_with(reading(16, 300), summaries=[SUMMARY], hooks=[hook])
    agent.set_system_prompt("You help.\n\n## Compaction instructions\nKeep every path.\n\n## Style\nBe brief.")
    seen = record(agent)

    assert await agent.compact() is None
    assert not requests(agent)
    hook.verdict = Inject("Name the tests.")
    assert await agent.compact() is not None

    assert [event.outcome for event in seen.of(HookRan)] == ["stopped", "injected"]
    (asked,) = requests(agent)
    assert "<instructions>\nKeep every path.\n\nName the tests.\n</instructions>" in asked.messages[-1].text


async def test_pinned_messages_survive_eviction_and_compaction(agent_with, requests):
    agent = agent_with(reading(16, 600), "done", summaries=[SUMMARY], window=WINDOW)
    agent.pin("02-result")

    await agent.prompt("go on")
    assert sizes(requests(agent)[-1])["02-result"] == 2_400
    await agent.compact()

    shown = [each.id for each in agent.context_messages]
    assert shown[2:4] == ["reply-02", "02-result"]
    assert "03-result" not in shown
    agent.unpin("02-result")
    with pytest.raises(ConfigError, match="no message"):
        agent.pin("nothing")


async def test_dropped_messages_leave_the_context_in_pairs_and_come_back(agent_with, requests):
    history = reading(4, 300)
    agent = agent_with(history, "done", "again")
    agent.drop("reply-00")
    agent.drop("01-result")
    agent.drop(history[0].id)

    await agent.prompt("go on")

    (request,) = requests(agent)
    check_request(request)
    assert "00-result" not in sizes(request)
    assert [request.messages[0].text, request.messages[2].text] == [DROPPED.text] * 2
    for message_id in ("reply-00", "01-result", history[0].id):
        agent.restore(message_id)
    await agent.prompt("again")
    assert list(requests(agent)[-1].messages[: len(history)]) == history


async def test_everything_is_the_same_after_a_resume(agent_with, make_agent, requests):
    store = InMemorySessionStore()
    agent = agent_with(reading(16, 300), *["done"] * 3, summaries=[SUMMARY] * 2, window=WINDOW)
    await agent.open_session(store)
    await agent.prompt("one")
    agent.pin(agent.messages[6].id)
    await agent.compact()
    agent.replace_summary("Edited.")
    agent.drop(agent.messages[-1].id)
    await agent.prompt("two")
    await agent.close()

    later = agent_with((), "done", window=WINDOW)
    assert await later.open_session(store, agent.session_id)

    assert sent(later.context_messages) == sent(agent.context_messages)
    assert later.state.context.overlay.pinned == agent.state.context.overlay.pinned
    await agent.prompt("three")
    await later.prompt("three")
    assert sent(requests(later)[-1].messages[:-1]) == sent(requests(agent)[-1].messages[:-1])
    later.undo_compaction()
    assert len(later.context_messages) > len(agent.context_messages)


async def test_counts_follow_the_reports_of_the_service(agent_with, record):
    replies = [Reply((Say("one"),), usage=Usage(input=6_000, output=10)), "two", "three"]
    agent = agent_with(reading(8, 500), *replies, window=NO_STAGES)
    seen = record(agent)

    await agent.prompt("one")
    await agent.prompt("two")
    agent.drop("00-result")
    await agent.prompt("three")

    counted = [event.tokens for event in seen.of(RequestStart)]
    assert 4_000 < counted[0] < 4_500
    assert 6_010 < counted[1] < 6_030


async def test_window_of_another_model_applies_at_once(agent_with, record):
    agent = agent_with(reading(16, 500), "one", "two")
    seen = record(agent)
    await agent.prompt("one")
    assert not seen.of(Evicted)

    small = replace(agent.state.model, info=StaticModelInfo(ModelInfo(context_window=8_000)))
    agent.set_model(replace(small, spec=replace(small.spec, model_id="small")))
    await agent.prompt("two")

    assert seen.of(Evicted)
    assert seen.of(RequestStart)[-1].tokens <= 6_400
