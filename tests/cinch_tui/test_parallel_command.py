from __future__ import annotations

import threading
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from fakes.chat import until
from fakes.model_server import ModelServer
from fakes.recording_host import RecordingHost
from fakes.script import Failure, Item, Reply
from msgspec.structs import replace
from textual.pilot import Pilot

from cinch_tui.app.app import CinchApp
from cinch_tui.cli.arguments import parse_arguments
from cinch_tui.cli.start import prepare
from cinch_tui.commands.builtin import builtin_commands
from cinch_tui.commands.registry import Invocation
from cinch_tui.config.tables.runs import ParallelSettings
from cinch_tui.controller.parallel_run import numbered
from cinch_tui.screens.picker import Picker
from cinch_tui.transcript.blocks import NoticeBlock, ReplyBlock, UserBlock
from cinch_tui.transcript.variant_block import VariantBlock
from cinch_tui.widgets.prompt.completion import CommandCompletion
from harness.session.resume import load_session

MAY_ANSWER = threading.Event()
ANSWERS: dict[str, Item] = {
    "session": Reply(text="The session's model speaks."),
    "quick": Reply(text="Because of **caches**."),
    "careful": Reply(text="Let me see.", calls=[("list_files", {"path": "."})]),
    "broken": Failure(401),
}


def answer(body: dict[str, Any]) -> Item:
    if body["model"] == "slow":
        MAY_ANSWER.wait(5)
        return Reply(text="At last.")
    if body["messages"][-1]["content"] != body["messages"][0]["content"] and body["model"] == "careful":
        return Reply(text="It is the disk.")
    return ANSWERS[body["model"]]


@pytest.fixture
def server() -> Iterator[ModelServer]:
    MAY_ANSWER.clear()
    with ModelServer(answer) as server:
        yield server
        MAY_ANSWER.set()


@pytest.fixture
def app(server: ModelServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> CinchApp:
    monkeypatch.setenv("ANTHROPIC_BASE_URL", server.url)
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-ant-not-a-key")
    (tmp_path / "notes.txt").write_text("slow\n", encoding="utf-8")
    options, settings = prepare(parse_arguments(["-m", "anthropic/session", "--cwd", str(tmp_path)]))
    return CinchApp(options, settings)


@asynccontextmanager
async def started(app: CinchApp) -> AsyncIterator[Pilot[object]]:
    async with app.run_test(size=(100, 40)) as pilot:
        await until(pilot, lambda: app.controller.sender.ready.is_set())
        yield pilot


async def say(pilot: Pilot[object], app: CinchApp, text: str) -> None:
    app.controller.view.prompt.restore(text)
    await pilot.press("enter")


def picks(app: CinchApp) -> bool:
    return isinstance(app.screen, Picker) and not app.screen.waiting


def blocks(app: CinchApp, kind: type) -> list:
    return [block for block in app.controller.view.widgets.transcript.blocks if type(block) is kind]


def history(app: CinchApp) -> list[str]:
    return [message.text for message in app.controller.agent.history]


def asked(server: ModelServer) -> list[str]:
    return [request.body["model"] for request in server.requests]


async def test_each_model_answers_under_its_name_and_the_picked_one_continues(app: CinchApp, server: ModelServer):
    async with started(app) as pilot:
        await say(pilot, app, "/parallel anthropic/quick anthropic/careful -- why is it slow?")
        await until(pilot, lambda: picks(app))
        shown = [(block.name, block.state, block.source.strip()) for block in blocks(app, VariantBlock)]
        await pilot.press("down", "enter")
        await until(pilot, lambda: app.controller.sender.parallel_run is None)

        assert shown == [
            ("anthropic/quick", "done", "Because of **caches**."),
            ("anthropic/careful", "done", "Let me see.\n\n▸ List files `.`\n\n\n\nIt is the disk."),
        ]
        assert history(app)[0] == "why is it slow?"
        assert history(app)[-1] == "It is the disk."
        assert "caches" not in "".join(history(app))
        assert [(block.state, block.folded) for block in blocks(app, VariantBlock)] == [
            ("left", True),
            ("chosen", True),
        ]
        assert [block.source for block in blocks(app, ReplyBlock)] == ["Let me see.", "It is the disk."]
        assert [block.source for block in blocks(app, UserBlock)] == ["why is it slow?"]
        assert sorted(asked(server)) == ["careful", "careful", "quick"]


async def test_configured_evaluator_chooses_instead_of_the_user(app: CinchApp):
    app.controller.settings = replace(app.controller.settings, parallel=ParallelSettings("most-tokens"))
    async with started(app) as pilot:
        await say(pilot, app, "/parallel anthropic/quick anthropic/careful -- why is it slow?")
        await until(pilot, lambda: app.controller.sender.parallel_run is None and history(app)[1:])

        assert history(app)[-1] == "It is the disk."
        notices = [block.source for block in blocks(app, NoticeBlock)]
        assert any("Chosen by most-tokens: anthropic/careful (the most tokens" in each for each in notices)


async def test_unknown_evaluator_is_reported_before_a_model_is_asked(app: CinchApp, server: ModelServer):
    app.controller.settings = replace(app.controller.settings, parallel=ParallelSettings("shortest"))
    async with started(app) as pilot:
        await say(pilot, app, "/parallel anthropic/quick anthropic/careful -- why?")
        await until(pilot, lambda: blocks(app, NoticeBlock))

        (notice,) = blocks(app, NoticeBlock)
        assert notice.source.startswith("There is no evaluator 'shortest'; known are first, fewest-tokens")
        assert app.controller.view.prompt.user_input.text == "/parallel anthropic/quick anthropic/careful -- why?"
        assert not asked(server)


async def test_the_session_continues_with_its_model_although_only_others_ran(app: CinchApp):
    async with started(app) as pilot:
        await say(pilot, app, "/parallel anthropic/quick anthropic/broken -- why?")
        await until(pilot, lambda: app.controller.sender.parallel_run is None and history(app)[1:])

        session = load_session(app.controller.assembly.store.path)
        assert session.model_name == "anthropic/session"


async def test_the_status_shows_that_a_parallel_answer_is_to_be_picked(app: CinchApp):
    async with started(app) as pilot:
        await say(pilot, app, "/parallel anthropic/quick anthropic/quick -- why?")
        await until(pilot, lambda: picks(app))
        waiting = app.controller.view.widgets.status.status.note
        await pilot.press("enter")
        await until(pilot, lambda: app.controller.sender.parallel_run is None)

        assert (waiting, app.controller.view.widgets.status.status.note) == ("needs input", "")


async def test_they_may_look_but_not_change_anything(app: CinchApp, server: ModelServer):
    async with started(app) as pilot:
        await say(pilot, app, "/parallel anthropic/quick anthropic/quick -- why?")
        await until(pilot, lambda: picks(app))

        assert [block.name for block in blocks(app, VariantBlock)] == ["anthropic/quick (1)", "anthropic/quick (2)"]
        offered = {tool["name"] for request in server.requests for tool in request.body["tools"]}
        assert "read_file" in offered
        assert offered.isdisjoint({"edit_file", "write_file", "bash", "submit_plan"})
        assert "only read-only tools" in str(server.requests[0].body["system"]).lower()


async def test_the_next_prompt_goes_to_them_and_the_one_after_to_the_session(app: CinchApp, server: ModelServer):
    async with started(app) as pilot:
        await say(pilot, app, "/parallel anthropic/quick anthropic/careful")
        await until(pilot, lambda: app.controller.sender.parallel_run)
        before = asked(server)
        await say(pilot, app, "why\nis it slow?")
        await until(pilot, lambda: picks(app))
        await pilot.press("enter")
        await until(pilot, lambda: app.controller.sender.parallel_run is None)
        await say(pilot, app, "thanks")
        await until(pilot, lambda: len(history(app)) == 4)

        assert before == []
        assert history(app) == [
            "why\nis it slow?",
            "Because of **caches**.",
            "thanks",
            "The session's model speaks.",
        ]


async def test_a_model_that_cannot_be_had_is_reported_and_nothing_is_lost(app: CinchApp, server: ModelServer):
    async with started(app) as pilot:
        await say(pilot, app, "/parallel anthropic/quick nobody/known -- why is it slow?")
        await until(pilot, lambda: blocks(app, NoticeBlock))

        (notice,) = blocks(app, NoticeBlock)
        assert notice.level == "error"
        assert "nobody" in notice.text
        assert app.controller.view.prompt.text == "/parallel anthropic/quick nobody/known -- why is it slow?"
        assert (asked(server), app.controller.sender.parallel_run, history(app)) == ([], None, [])


@pytest.mark.parametrize("typed", ["/parallel anthropic/quick -- why is it slow?", "/parallel anthropic/quick"])
async def test_one_model_alone_is_refused_and_nothing_is_lost(app: CinchApp, typed: str):
    async with started(app) as pilot:
        await say(pilot, app, typed)
        await until(pilot, lambda: blocks(app, NoticeBlock))

        assert "two models or more" in blocks(app, NoticeBlock)[0].text
        assert app.controller.view.prompt.text == typed


async def test_when_all_fail_each_shows_its_error_and_the_prompt_stays(app: CinchApp):
    async with started(app) as pilot:
        await say(pilot, app, "/parallel anthropic/broken anthropic/broken -- why?")
        await until(pilot, lambda: app.controller.view.widgets.status.status.state == "error")

        assert [(block.state, block.folded) for block in blocks(app, VariantBlock)] == [("failed", False)] * 2
        assert all("401" in block.source for block in blocks(app, VariantBlock))
        assert history(app) == ["why?"]
        await until(pilot, lambda: app.controller.sender.parallel_run is None)


async def test_text_typed_meanwhile_is_delivered_after_the_pick(app: CinchApp):
    async with started(app) as pilot:
        await say(pilot, app, "/parallel anthropic/quick anthropic/slow -- why?")
        await until(pilot, lambda: any(block.state == "done" for block in blocks(app, VariantBlock)))
        await say(pilot, app, "and then?")
        MAY_ANSWER.set()
        await until(pilot, lambda: picks(app))
        await pilot.press("enter")
        await until(pilot, lambda: app.controller.sender.parallel_run is None)

        assert history(app) == ["why?", "Because of **caches**.", "and then?", "The session's model speaks."]


async def test_one_that_fails_is_reported_in_its_block_and_cannot_be_picked(app: CinchApp):
    async with started(app) as pilot:
        await say(pilot, app, "/parallel anthropic/broken anthropic/quick anthropic/careful -- why?")
        await until(pilot, lambda: picks(app))
        rows = [item.label for item in app.screen._items]
        await pilot.press("enter")
        await until(pilot, lambda: app.controller.sender.parallel_run is None)

        assert rows == ["anthropic/quick", "anthropic/careful"]
        assert [block.state for block in blocks(app, VariantBlock)] == ["failed", "chosen", "left"]
        assert blocks(app, VariantBlock)[0].note
        assert history(app) == ["why?", "Because of **caches**."]


async def test_escape_lets_the_user_read_on_and_pick_later(app: CinchApp):
    async with started(app) as pilot:
        await say(pilot, app, "/parallel anthropic/quick anthropic/careful -- why?")
        await until(pilot, lambda: picks(app))
        await pilot.press("escape")
        await until(pilot, lambda: blocks(app, NoticeBlock))
        still_running = app.controller.is_running
        await say(pilot, app, "/parallel pick")
        await until(pilot, lambda: picks(app))
        await pilot.press("enter")
        await until(pilot, lambda: app.controller.sender.parallel_run is None)

        assert still_running
        assert history(app) == ["why?", "Because of **caches**."]


async def test_escape_while_they_answer_stops_all_and_keeps_the_prompt(app: CinchApp):
    async with started(app) as pilot:
        await say(pilot, app, "/parallel anthropic/quick anthropic/slow -- why?")
        await until(pilot, lambda: any(block.state == "done" for block in blocks(app, VariantBlock)))
        await pilot.press("escape")
        await until(pilot, lambda: app.controller.sender.parallel_run is None)

        assert history(app) == ["why?"]
        assert [block.state for block in blocks(app, VariantBlock)] == ["done", "failed"]
        assert app.controller.view.widgets.status.status.tokens_out > 0
        assert not any(block.folded for block in blocks(app, VariantBlock))
        assert app.controller.sender.parallel_run is None


async def test_stopping_takes_the_question_down(app: CinchApp):
    async with started(app) as pilot:
        await say(pilot, app, "/parallel anthropic/quick anthropic/careful -- why?")
        await until(pilot, lambda: picks(app))
        await pilot.press("ctrl+c")
        await until(pilot, lambda: app.controller.sender.parallel_run is None)

        assert app.screen is app.controller.view
        assert history(app) == ["why?"]


async def test_the_session_file_has_the_picked_answer_only(app: CinchApp):
    async with started(app) as pilot:
        await say(pilot, app, "/parallel anthropic/quick anthropic/careful -- why?")
        await until(pilot, lambda: picks(app))
        await pilot.press("enter")
        await until(pilot, lambda: app.controller.sender.parallel_run is None)
        path = app.controller.assembly.store.path

    text = path.read_text(encoding="utf-8")
    assert text.count("caches") == 1
    assert "disk" not in text


@pytest.mark.parametrize(
    ("text", "call"),
    [
        ("/parallel a/b c/d -- why is it -- slow?", ("ask_several", "a/b", "c/d", "why is it -- slow?")),
        ("/parallel a/b c/d e--f", ("ask_several", "a/b", "c/d", "e--f", "")),
        ("/parallel a/b c/d --", ("ask_several", "a/b", "c/d", "")),
        ("/parallel a/b -- why?", ("ask_several", "a/b", "why?")),
        ("/parallel off", ("ask_one",)),
        ("/parallel pick", ("pick_answer",)),
    ],
)
async def test_arguments_of_the_command_are_parsed(text: str, call: tuple[str, ...]):
    host = RecordingHost()
    registry = builtin_commands()
    invocation = registry.parse(text)
    assert isinstance(invocation, Invocation)

    await registry.run(invocation, host)

    assert host.calls == [call]


@pytest.mark.parametrize("text", ["/parallel a/b c/d -- why?", "/parallel a/b c/d", "/parallel off"])
async def test_it_has_to_wait_for_the_run(text: str):
    host = RecordingHost()
    host.session.is_running = True
    registry = builtin_commands()
    invocation = registry.parse(text)
    assert isinstance(invocation, Invocation)

    await registry.run(invocation, host)

    assert host.calls == []
    assert host.notices == [("warning", "/parallel is not available while the agent is running; Esc stops it")]


@pytest.mark.parametrize(
    ("typed", "start", "first"),
    [
        ("/parallel demo", 10, "demo/tour"),
        ("/parallel demo/tour anth", 20, "anthropic/claude-opus-4-5"),
        ("/parallel demo/tour -- demo", None, None),
    ],
)
def test_each_model_is_completed_and_the_prompt_is_not(typed: str, start: int | None, first: str | None):
    completion = CommandCompletion(builtin_commands, RecordingHost()).complete(typed, one_line=True)

    assert (completion and completion.start) == start
    assert (completion and completion.candidates[0].text) == first


def test_names_that_come_again_are_numbered():
    assert numbered(["a", "b", "a"]) == ["a (1)", "b", "a (2)"]
