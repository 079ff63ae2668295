"""Compactions and evictions that a session records: models see summaries and stubs, the history keeps all messages."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest
from fakes.contests import model
from fakes.talk import call, reply, result, rounded, written

from harness.agent.agent import Agent
from harness.context.overlay import EVICTED
from harness.context.policy import ContextPolicy
from harness.messages import AssistantMessage, CustomMessage, Message, ToolResult, new_id, synthetic, user
from harness.parallel.run import run_parallel
from harness.parallel.selection import LlmJudge
from harness.parallel.variant import ParallelVariant
from harness.ports.session_store import InMemorySessionStore
from harness.session.fork import fork_session
from harness.session.notes import CompactionNote, EvictionNote, Note
from harness.session.records import to_bytes
from harness.session.resume import LoadedSession, load_session

CONVERSATION = (
    user("one"),
    reply("I look", call("a")),
    result("a", "found"),
    reply("two"),
    user("three"),
    reply("four"),
)
IDS = [each.id for each in CONVERSATION]


def session_with(tmp_path: Path, *notes: Note) -> LoadedSession:
    path = written(tmp_path, *CONVERSATION)
    with path.open("ab") as file:
        file.writelines(map(to_bytes, notes))
    return load_session(path)


def texts(messages: Sequence[Message]) -> list[str]:
    return [message.text for message in messages if not isinstance(message, CustomMessage)]


def seen(session: LoadedSession) -> list[str]:
    return texts(session.overlay.apply(list(session.messages)))


def compaction(last: int, summary: str = "summary", **more: object) -> CompactionNote:
    return CompactionNote(id=new_id(), after=IDS[-1], last=IDS[last], summary=summary, **more)


async def resumed(make_agent, session: LoadedSession, *script: str, **options: object) -> Agent:
    store = InMemorySessionStore()
    await store.append(session.session_id, session.path.read_bytes())
    agent = make_agent(*script, **options)
    assert await agent.open_session(store, session.session_id)
    return agent


def test_summary_replaces_the_messages_up_to_its_last_one(tmp_path: Path):
    assert seen(session_with(tmp_path, compaction(3))) == ["summary", "three", "four"]


def test_kept_messages_and_those_before_the_first_stay(tmp_path: Path):
    session = session_with(tmp_path, compaction(3, first=IDS[1], kept=(IDS[3],)))

    assert seen(session) == ["one", "summary", "two", "three", "four"]


def test_later_summary_replaces_an_earlier_one(tmp_path: Path):
    both = (compaction(3, "first"), compaction(4, "second"))

    assert seen(session_with(tmp_path, *both)) == ["second", "four"]


def test_earlier_summary_stays_if_a_later_one_keeps_it_or_begins_after_it(tmp_path: Path):
    early = compaction(3, "first")

    for late in (compaction(4, "second", kept=(early.id,)), compaction(4, "second", first=IDS[4])):
        assert seen(session_with(tmp_path, early, late)) == ["first", "second", "four"]


def test_compaction_whose_lines_are_lost_replaces_nothing(tmp_path: Path):
    lost = CompactionNote(id=new_id(), after="", last="gone", summary="summary")

    assert seen(session_with(tmp_path, lost)) == texts(CONVERSATION)


def test_evicted_content_becomes_a_stub_and_calls_stay(tmp_path: Path):
    session = session_with(tmp_path, EvictionNote(ids=(IDS[0], IDS[1], IDS[2]), after=IDS[-1]))

    first, second, third, *rest = session.overlay.apply(list(session.messages))

    stub = "[Cleared: read_file() — 5 chars. Repeat the call if you need it.]"
    assert texts([first, second, third]) == [EVICTED.text, EVICTED.text, stub]
    assert isinstance(second, AssistantMessage)
    assert isinstance(third, ToolResult)
    assert [each.id for each in second.tool_calls] == [third.call_id]
    assert texts(rest) == ["two", "three", "four"]


def test_fork_has_the_same_overlay(tmp_path: Path):
    session = session_with(tmp_path, compaction(3), EvictionNote(ids=(IDS[4],), after=IDS[-1]))

    assert seen(load_session(fork_session(session.path, new_id()))) == ["summary", EVICTED.text, "four"]


def test_fork_keeps_a_summary_within_a_later_one(tmp_path: Path):
    early = compaction(2, "first", first=IDS[1])
    session = session_with(tmp_path, early, compaction(3, "second", kept=(early.id,)))

    assert seen(load_session(fork_session(session.path, new_id()))) == seen(session)


@pytest.mark.parametrize("limit", [0, 100_000])
async def test_resumed_agent_sends_the_summary_and_keeps_the_history(make_agent, requests, tmp_path, limit: int):
    session = session_with(tmp_path, compaction(3))
    agent = await resumed(make_agent, session, "five", "aside", window=ContextPolicy(window=limit))

    await agent.prompt("more")
    await agent.ask_side_question("why?")

    sent = [texts(each.messages) for each in requests(agent)]
    assert sent[0] == ["summary", "three", "four", "more"]
    assert sent[1][:-1] == [*sent[0], "five"]
    assert list(agent.messages[:-2]) == rounded(CONVERSATION)
    agent.rotate_session_if_idle(-1)
    assert texts(agent.context_messages)[:3] == ["summary", "three", "four"]


async def test_parallel_runs_see_the_summary(make_agent, requests, tmp_path: Path):
    agent = await resumed(make_agent, session_with(tmp_path, compaction(3)))
    variants = [model("a", "A"), model("b", "B")]

    await run_parallel(agent, "which?", [ParallelVariant(each) for each in variants])

    for each in variants:
        (request,) = each.provider.requests
        assert texts(request.messages) == ["summary", "three", "four", "which?"]


async def test_overlay_of_one_session_does_not_concern_another(make_agent, tmp_path: Path):
    agent = await resumed(make_agent, session_with(tmp_path, compaction(3)))

    agent.new_session(messages=[user("new"), synthetic("notice")])

    assert texts(agent.context_messages) == ["new", "notice"]


async def test_judge_sees_the_summary(make_agent, requests, tmp_path: Path):
    agent = await resumed(make_agent, session_with(tmp_path, compaction(3)))
    judge = model("judge", "1")

    await run_parallel(agent, "which?", [ParallelVariant(model(name, name)) for name in "ab"], LlmJudge(judge))

    (request,) = judge.provider.requests
    asked = request.messages[0].text
    assert "summary" in asked
    assert "found" not in asked
