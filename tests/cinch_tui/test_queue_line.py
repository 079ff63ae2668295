from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from fakes.chat import chat, ready, until
from fakes.model_server import ModelServer
from fakes.prompt_app import type_text
from fakes.script import Hang, Reply
from textual.pilot import Pilot

from cinch_tui.app.app import CinchApp
from cinch_tui.screens import conversation
from cinch_tui.screens.chat import ChatScreen

HEARD = ("heard next", "then this")
LATER = ("at the end",)


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[ModelServer]:
    with ModelServer([Hang(), Reply("one"), Reply("two"), Reply("three"), Reply("four")]) as server:
        monkeypatch.setenv("ANTHROPIC_BASE_URL", server.url)
        monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-x")
        yield server


@asynccontextmanager
async def waiting(root: Path) -> AsyncIterator[tuple[CinchApp, Pilot[object]]]:
    """A run that is on, with two messages for now and one for its end."""
    app = chat(root)
    async with app.run_test(size=(90, 30)) as pilot:
        await ready(pilot, app)
        await type_text(pilot, "begin")
        await pilot.press("enter")
        await until(pilot, lambda: app.controller.is_running)
        for text, key in ((HEARD[0], "enter"), (HEARD[1], "enter"), (LATER[0], "alt+enter")):
            await type_text(pilot, text)
            await pilot.press(key)
        await until(pilot, lambda: len(rows(app)) == 3)
        yield app, pilot


def screen(app: CinchApp) -> ChatScreen:
    found = app.screen
    assert isinstance(found, ChatScreen)
    return found


def rows(app: CinchApp) -> list[tuple[str, str]]:
    return [(row.kind, row.text) for row in screen(app).widgets.queue.rows]


def queued(app: CinchApp) -> tuple[list[str], list[str]]:
    inbox = app.controller.agent.inbox
    return [each.text for each in inbox.steering.messages], [each.text for each in inbox.follow_up.messages]


async def test_queued_messages_are_listed_and_the_list_is_focused_by_key(server: ModelServer, tmp_path: Path):
    async with waiting(tmp_path) as (app, pilot):
        queue = screen(app).widgets.queue
        assert rows(app) == [("next", HEARD[0]), ("next", HEARD[1]), ("afterwards", LATER[0])]

        await pilot.press("alt+q", "down")
        assert queue.has_focus
        assert queue._chosen == queue.rows[1].id

        await pilot.press("escape")
        assert screen(app).prompt.field.has_focus
        assert app.controller.is_running


async def test_message_is_changed_in_the_prompt_and_waits_in_its_place_again(server: ModelServer, tmp_path: Path):
    async with waiting(tmp_path) as (app, pilot):
        await type_text(pilot, "half a thought")
        await pilot.press("alt+q", "enter")
        await until(pilot, lambda: screen(app).prompt.text == HEARD[0])
        assert queued(app)[0] == [HEARD[1]]

        await type_text(pilot, ", or now")
        await pilot.press("enter")
        await until(pilot, lambda: len(rows(app)) == 3)

        assert queued(app) == ([f"{HEARD[0]}, or now", HEARD[1]], [LATER[0]])
        assert screen(app).prompt.text == "half a thought"


async def test_escape_leaves_a_message_as_it_was_and_stops_nothing(server: ModelServer, tmp_path: Path):
    async with waiting(tmp_path) as (app, pilot):
        await pilot.press("alt+q", "e")
        await until(pilot, lambda: screen(app).prompt.text == HEARD[0])
        await type_text(pilot, " what not to say")
        await pilot.press("escape")
        await until(pilot, lambda: len(rows(app)) == 3)

        assert queued(app) == ([*HEARD], [*LATER])
        assert screen(app).prompt.text == ""
        assert app.controller.is_running


async def test_when_another_is_changed_the_one_before_is_left_as_it_was(server: ModelServer, tmp_path: Path):
    async with waiting(tmp_path) as (app, pilot):
        await type_text(pilot, "half a thought")
        await pilot.press("alt+q", "e")
        await until(pilot, lambda: screen(app).prompt.text == HEARD[0])
        await type_text(pilot, " what not to say")
        await pilot.press("alt+q", "e")
        await until(pilot, lambda: screen(app).prompt.text == HEARD[1])
        await pilot.pause()
        assert queued(app) == ([HEARD[0]], [*LATER])

        await type_text(pilot, ", or later")
        await pilot.press("enter")
        await until(pilot, lambda: len(rows(app)) == 3)

        assert queued(app) == ([HEARD[0], f"{HEARD[1]}, or later"], [*LATER])
        assert screen(app).prompt.text == "half a thought"


async def test_removed_message_is_in_the_history(server: ModelServer, tmp_path: Path):
    async with waiting(tmp_path) as (app, pilot):
        await pilot.press("alt+q", "d")
        await until(pilot, lambda: len(rows(app)) == 2)
        await pilot.press("d", "d")
        await until(pilot, lambda: not rows(app) and screen(app).prompt.field.has_focus)
        await pilot.press("up", "up", "up")

        assert queued(app) == ([], [])
        assert screen(app).prompt.text == HEARD[0]


async def test_messages_are_reordered_and_go_from_next_to_afterwards(server: ModelServer, tmp_path: Path):
    async with waiting(tmp_path) as (app, pilot):
        await pilot.press("alt+q", "shift+down")
        await until(pilot, lambda: queued(app)[0] == [HEARD[1], HEARD[0]])
        await pilot.press("K")
        await until(pilot, lambda: queued(app)[0] == [*HEARD])
        await pilot.press("s")
        await until(pilot, lambda: queued(app) == ([HEARD[1]], [LATER[0], HEARD[0]]))
        await pilot.press("s")
        await until(pilot, lambda: queued(app) == ([HEARD[1], HEARD[0]], [LATER[0]]))


async def test_when_the_chosen_message_is_taken_no_key_acts_on_another(server: ModelServer, tmp_path: Path):
    async with waiting(tmp_path) as (app, pilot):
        await pilot.press("alt+q")
        app.controller.agent.inbox.steering.take()
        app.controller.sender.queue.show()
        await pilot.press("d", "e", "s", "K")
        await pilot.pause()

        assert queued(app) == ([HEARD[1]], [LATER[0]])
        await pilot.press("down")
        assert screen(app).widgets.queue._chosen == screen(app).widgets.queue.rows[0].id


async def test_queued_message_being_edited_is_sent_as_a_prompt_after_the_run(server: ModelServer, tmp_path: Path):
    async with waiting(tmp_path) as (app, pilot):
        await pilot.press("alt+q", "e")
        await until(pilot, lambda: screen(app).prompt.text == HEARD[0])
        app.controller.abort()
        await until(pilot, lambda: not app.controller.is_running)
        await until(pilot, lambda: HEARD[1] in screen(app).prompt.text)
        await pilot.press("enter")
        await until(pilot, lambda: len(server.requests) == 2 and not app.controller.is_running)

        said = str(server.requests[1].body["messages"])
        assert all(text in said for text in (*HEARD, *LATER))


async def test_letter_that_means_nothing_there_goes_to_the_prompt(server: ModelServer, tmp_path: Path):
    async with waiting(tmp_path) as (app, pilot):
        await pilot.press("alt+q", "x")
        await until(pilot, lambda: screen(app).prompt.text == "x")

        assert screen(app).prompt.field.has_focus


@pytest.mark.parametrize("key", ["enter", "escape"])
async def test_queued_message_is_sent_now_and_the_run_continues_with_it(
    server: ModelServer, tmp_path: Path, key: str
) -> None:
    async with waiting(tmp_path) as (app, pilot):
        assert "Enter or Esc sends it now" in str(screen(app).widgets.queue.render())

        await pilot.press(key)
        await until(pilot, lambda: not app.controller.is_running)

        assert [each.text for each in app.controller.agent.history.prompts()] == ["begin", *HEARD, *LATER]
        assert not any(map(str.strip, [screen(app).prompt.text]))


async def test_escape_stops_the_run_when_only_a_follow_up_is_queued(server: ModelServer, tmp_path: Path) -> None:
    async with waiting(tmp_path) as (app, pilot):
        app.controller.agent.inbox.steering.clear()
        app.controller.sender.queue.show()
        assert "sends it now" not in str(screen(app).widgets.queue.render())

        await pilot.press("enter")
        assert app.controller.is_running
        await pilot.press("escape")
        await until(pilot, lambda: not app.controller.is_running)

        assert [each.text for each in app.controller.agent.history.prompts()] == ["begin"]
        assert screen(app).prompt.text == LATER[0]


@pytest.mark.parametrize(("delay", "stops"), [(3600.0, False), (0.0, True)])
async def test_escape_right_after_the_focused_list_became_empty_does_not_stop_the_run(
    server: ModelServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, delay: float, *, stops: bool
) -> None:
    monkeypatch.setattr(conversation, "ESCAPE_DELAY", delay)
    async with waiting(tmp_path) as (app, pilot):
        await pilot.press("alt+q")
        app.controller.agent.inbox.steering.clear()
        app.controller.agent.inbox.follow_up.clear()
        app.controller.sender.queue.show()
        await until(pilot, lambda: screen(app).prompt.field.has_focus)

        await pilot.press("escape", "x")
        await until(pilot, lambda: screen(app).prompt.text == "x")
        await until(pilot, lambda: app.controller.is_running is not stops)

        aborted = app.controller.agent.history.messages[-1]
        assert getattr(aborted, "stop_reason", "") == ("aborted" if stops else "")
