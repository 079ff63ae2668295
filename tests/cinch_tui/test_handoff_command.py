from __future__ import annotations

import pytest
from fakes.dialogs import Host, until_listening
from fakes.recording_host import RecordingHost

from cinch_tui.commands.builtin import builtin_commands
from cinch_tui.commands.registry import Invocation
from cinch_tui.screens.plan_review import BRIEF_REVIEW, PlanScreen
from harness.messages import AssistantMessage, Text, user
from harness.user_requests import Plan, PlanDecision
from providers.demo import Reply, Say, scripted

BRIEF = "Finish the parser\n\n## Goal\nMake the tests of the parser pass."


class PlainHost(RecordingHost):
    full_screen = None


def host_with(model_reply: str, host: RecordingHost) -> RecordingHost:
    host.agent.new_session(messages=[user("Build a parser."), AssistantMessage((Text("Half of it works."),))])
    host.agent.set_model(scripted(*[Reply((Say(model_reply),))] * 2))
    return host


async def run(text: str, host: RecordingHost) -> None:
    parsed = builtin_commands().parse(text)
    assert isinstance(parsed, Invocation), parsed
    await builtin_commands().run(parsed, host)


async def test_accepted_brief_is_the_prepared_prompt_of_a_new_session():
    host = host_with(BRIEF, RecordingHost(picked="Finish it."))

    await run("/handoff", host)

    reviewed, opened, prepared = host.calls[-3:]
    assert reviewed[0] == "review_brief"
    assert reviewed[1].startswith(BRIEF)
    assert opened == ("new_session",)
    assert prepared == ("restore_prompt", "Finish it.")
    assert host.notices[-1][1].startswith("This is a new session: Enter sends the brief")


async def test_declined_brief_changes_nothing():
    host = host_with(BRIEF, RecordingHost())
    before = host.agent.messages

    await run("/handoff", host)

    assert host.calls[-1][0] == "review_brief"
    assert host.agent.messages == before


async def test_failed_brief_changes_nothing_and_is_reported():
    host = host_with(" ", RecordingHost())
    before = host.agent.messages

    await run("/handoff the tests", host)

    assert [level for level, _ in host.notices] == ["error"]
    assert host.calls == [("show_activity", "Writing a brief"), ("return_queued",)]
    assert host.agent.messages == before


async def test_plain_mode_sends_the_accepted_brief():
    host = host_with(BRIEF, PlainHost(picked="Finish it."))

    await run("/handoff", host)

    assert [message.text for message in host.agent.drain_queues()] == ["Finish it."]
    assert host.calls[-2:] == [("new_session",), ("continue_run",)]


@pytest.mark.parametrize(("key", "is_accepted"), [("y", True), ("n", False), ("escape", False)])
async def test_each_key_answers_the_review(key: str, is_accepted: bool):
    app = Host(PlanScreen(Plan(BRIEF), grace=0, review=BRIEF_REVIEW))
    async with app.run_test(size=(80, 24)) as pilot:
        # Answers of plans only.
        await pilot.press("a", "d")
        await until_listening(pilot)
        assert app.results == []
        await pilot.press(key)
        await pilot.pause()

    assert app.results == [PlanDecision(accepted=is_accepted)]
