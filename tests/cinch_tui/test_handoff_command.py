from __future__ import annotations

import pytest
from fakes.recording_host import RecordingHost

from cinch_tui.commands.builtin import builtin_commands
from cinch_tui.commands.context import CANCEL, EDIT, START
from cinch_tui.commands.registry import Invocation
from harness.messages import AssistantMessage, Text, user
from providers.demo import Reply, Say, scripted

BRIEF = "Finish the parser\n\n## Goal\nMake the tests of the parser pass."


def host_with(model_reply: str, *, plain: bool = False) -> RecordingHost:
    host = PlainHost() if plain else RecordingHost()
    host.agent.new_session(messages=[user("Build a parser."), AssistantMessage((Text("Half of it works."),))])
    host.agent.set_model(scripted(*[Reply((Say(model_reply),))] * 2))
    return host


class PlainHost(RecordingHost):
    full_screen = None


async def run(text: str, host: RecordingHost) -> None:
    parsed = builtin_commands().parse(text)
    assert isinstance(parsed, Invocation), parsed
    await builtin_commands().run(parsed, host)


async def test_accepted_brief_is_the_prepared_prompt_of_a_new_session():
    host = host_with(BRIEF)
    host.picked = START

    await run("/handoff", host)

    shown, picked, opened, prepared = host.calls[-4:]
    assert shown[:2] == ("show", "Handoff")
    assert picked == ("pick", "Hand off to a new session?", START, START, EDIT, CANCEL)
    assert opened == ("new_session",)
    assert prepared == ("restore_prompt", shown[2])
    assert prepared[1].startswith(BRIEF)


@pytest.mark.parametrize("answer", [CANCEL, None])
async def test_declined_brief_changes_nothing(answer: str | None):
    host = host_with(BRIEF)
    host.picked, before = answer, host.agent.messages

    await run("/handoff", host)

    assert host.calls[-1][0] == "pick"
    assert host.agent.messages == before


async def test_failed_brief_changes_nothing_and_is_reported():
    host = host_with(" ")
    before = host.agent.messages

    await run("/handoff the tests", host)

    assert [level for level, _ in host.notices] == ["error"]
    assert host.calls == [("show_progress", "writing a brief…"), ("return_queued",)]
    assert host.agent.messages == before


async def test_brief_is_edited_before_the_session_starts(monkeypatch: pytest.MonkeyPatch):
    host = host_with(BRIEF)
    answers = iter((EDIT, START))

    async def pick(*args: object) -> str:
        return next(answers)

    async def edit_text(text: str, name: str) -> str:
        return f"{text.splitlines()[0]}, but faster"

    monkeypatch.setattr(host, "pick", pick)
    monkeypatch.setattr(host, "edit_text", edit_text)

    await run("/handoff", host)

    assert host.calls[-1] == ("restore_prompt", "Finish the parser, but faster")


async def test_plain_mode_sends_the_accepted_brief():
    host = host_with(BRIEF, plain=True)
    host.picked = START

    await run("/handoff", host)

    (brief,) = host.agent.drain_queues()
    assert brief.text.startswith(BRIEF)
    assert host.calls[-2:] == [("new_session",), ("continue_run",)]
    assert EDIT not in host.calls[-3]
