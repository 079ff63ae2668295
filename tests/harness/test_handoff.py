from __future__ import annotations

import asyncio

import pytest
from msgspec.structs import replace

from harness.context.compaction import CompactionPlan, SummaryOptions, SummaryRequest
from harness.context.handoff import MAX_TITLE, write_brief
from harness.context.policy import NO_STAGES, ContextPolicy
from harness.context.quoted_prompts import PromptFact
from harness.context.summary_facts import AnswerFact, PlanFact, SummaryFacts, TodoFact
from harness.context.summary_text import Summary, summary_text
from harness.errors import Aborted, AlreadyRunning, ContextWindowOverflow, SummaryFailed
from harness.messages import AssistantMessage, Text, Usage, synthetic, user
from providers.demo.provider import Break, Hang, Reply, Say

BODY = "## Goal\nA parser without eval.\n\n## Next steps\n1. Fix the quotes in src/parse.py:12."
PLAN = CompactionPlan((user("Build a parser."), AssistantMessage((Text("Done so far."),))))
FACTS = SummaryFacts(
    prompts=(PromptFact("Build a parser.\nNever use eval."),),
    answers=(AnswerFact("Which database?", "Postgres"),),
    todo=(TodoFact("fix the quotes", "in_progress"),),
    plan=PlanFact("# Plan\n1. Parse.", "accepted"),
    edited=("src/parse.py",),
)


async def brief(reply: str, facts: SummaryFacts = FACTS, plan: CompactionPlan = PLAN) -> str:
    async def ask(request: SummaryRequest) -> AssistantMessage:
        assert "the brief with which a new session continues" in request.system
        return AssistantMessage((Text(reply),))

    return await write_brief(plan, facts, ask, SummaryOptions(focus="the quotes"))


async def test_brief_has_a_title_prose_and_facts():
    assert await brief(f"# **Finish the parser**\n\n{BODY}") == (
        f"Finish the parser\n\n{BODY}\n\n"
        "## Messages of the user, word for word\n\n> Build a parser.\n> Never use eval.\n\n"
        "## Answers of the user\n\n- Which database? → Postgres\n\n"
        "## Steps\n\n- [>] fix the quotes\n\n"
        "## Plan (accepted)\n\n> # Plan\n> 1. Parse.\n\n"
        "## Edited files\n\n- src/parse.py"
    )


@pytest.mark.parametrize(
    ("reply", "title"),
    [
        (BODY, "Build a parser. Never use eval."),
        (f"Goal\n{BODY}", "Build a parser. Never use eval."),
        (f'Title: "Fix it"\n\n{BODY}', "Fix it"),
        (f"**Title:** Fix it\n\n{BODY}", "Fix it"),
        (f"title - Fix it\n\n{BODY}", "Fix it"),
        (f"# Title-case all headings.\n\n{BODY}", "Title-case all headings"),
        (
            f"Finish the parser of the configuration files and their tests\n{BODY}",
            "Finish the parser of the configuration files and…",
        ),
        ("One line with no title at all, only text.", "Build a parser. Never use eval."),
    ],
)
async def test_title_is_short_in_any_reply(reply: str, title: str):
    text = await brief(reply)

    assert text.splitlines()[0] == title
    assert len(title) <= MAX_TITLE


async def test_reply_without_a_title_and_prompt_gets_one():
    assert (await brief(BODY, SummaryFacts())).startswith("Continue the work of an earlier session\n\n## Goal")


async def test_earlier_summary_is_part_of_the_request():
    requests: list[SummaryRequest] = []

    async def ask(request: SummaryRequest) -> AssistantMessage:
        requests.append(request)
        return AssistantMessage((Text(BODY),))

    earlier = synthetic(summary_text(Summary(prose="Use tabs.")))
    await write_brief(CompactionPlan((earlier, *PLAN.messages)), FACTS, ask, SummaryOptions(focus="the quotes"))

    assert "<focus>\nthe quotes\n</focus>" in requests[0].prompt
    assert "<earlier_summary>\nUse tabs.\n</earlier_summary>" in requests[0].prompt


async def test_empty_conversation_and_empty_reply_are_errors():
    with pytest.raises(SummaryFailed, match="no conversation to hand off"):
        await brief(BODY, plan=CompactionPlan(()))
    with pytest.raises(SummaryFailed, match="the reply is empty"):
        await brief(" ")


async def test_agent_writes_a_brief_and_stays_as_it_is(make_agent, record, requests):
    agent = make_agent(
        "I use Postgres.", Reply((Say(f"Finish the parser\n\n{BODY}"),), usage=Usage(input=90, output=9))
    )
    await agent.prompt("Build a parser. Never use eval.")
    before, seen = agent.messages, record(agent)

    text = await agent.handoff("the quotes")

    request = requests(agent)[-1]
    assert text.startswith(f"Finish the parser\n\n{BODY}")
    assert "> Build a parser. Never use eval." in text
    assert request.tools == ()
    assert "<focus>\nthe quotes\n</focus>" in request.messages[0].text
    assert "I use Postgres." in request.messages[0].text
    assert (agent.messages, agent.context_messages) == (before, before)
    assert seen.names == ["UsageAdded"]
    assert seen.events[0].source == "handoff"


async def test_failed_handoff_changes_nothing(make_agent):
    agent = make_agent("Done.", Reply((Say(" "),)), Reply((Break(ContextWindowOverflow("too long")),)), BODY, "And on.")
    await agent.prompt("Build a parser.")
    before = agent.messages

    with pytest.raises(SummaryFailed):
        await agent.handoff()
    assert "## Goal" in await agent.handoff()

    assert agent.messages == before
    assert (await agent.prompt("go on")).text == "And on."


async def test_handoff_can_be_aborted_and_needs_an_idle_agent(make_agent):
    agent = make_agent("Done.", Reply((Hang(),)))
    await agent.prompt("Build a parser.")
    working = asyncio.create_task(agent.handoff())
    await asyncio.sleep(0)

    with pytest.raises(AlreadyRunning):
        await agent.handoff()
    agent.abort()

    with pytest.raises(Aborted):
        await working
    assert not agent.is_running


async def test_handoff_is_due_after_a_successful_run_above_the_share(make_agent):
    policy = replace(NO_STAGES, window=10_000, reserve=0, handoff_at=0.5)
    small, large = Usage(input=4_000, output=9), Usage(input=7_000, output=9)
    agent = make_agent(
        Reply((Say("Begun."),), usage=small),
        Reply((Say("Partly done."),), usage=large),
        Reply((Break(ContextWindowOverflow("too long")),)),
        Reply((Break(ContextWindowOverflow("too long")),)),
        window=policy,
    )
    due = []
    for prompt in ("Build a parser.", "Go on.", "Finish."):
        await agent.prompt(prompt)
        due.append(agent.is_handoff_due)

    assert due == [False, True, False]
    assert ContextPolicy().handoff_at == 0


async def test_handoff_is_due_if_a_longer_system_prompt_fills_the_context(make_agent):
    policy = replace(NO_STAGES, window=10_000, reserve=0, handoff_at=0.5)
    agent = make_agent(Reply((Say("Begun."),), usage=Usage(input=4_000, output=9)), window=policy)
    await agent.prompt("Build a parser.")
    due = [agent.is_handoff_due]

    agent.set_system_prompt("Be brief. " * 4_000)

    assert [*due, agent.is_handoff_due] == [False, True]


async def test_failed_handoff_is_due_again_once_the_context_was_smaller(make_agent):
    policy = replace(NO_STAGES, window=10_000, reserve=0, handoff_at=0.5)
    large = Usage(input=7_000, output=9)
    agent = make_agent(
        Reply((Say("Begun."),), usage=large),
        Reply((Say(" "),)),
        Reply((Say("Still full."),), usage=large),
        Reply((Say("Smaller."),), usage=Usage(input=2_000, output=9)),
        Reply((Say("Smaller still."),), usage=Usage(input=2_000, output=9)),
        Reply((Say("Full again."),), usage=large),
        window=policy,
    )
    await agent.prompt("Build a parser.")
    with pytest.raises(SummaryFailed):
        await agent.handoff()
    due = [agent.is_handoff_due]
    for prompt in ("Go on.", "Shorter.", "Next.", "More."):
        await agent.prompt(prompt)
        due.append(agent.is_handoff_due)

    assert due == [False, False, False, False, True]
