from __future__ import annotations

from pathlib import Path

import pytest
from fakes.chat import chat, ready, until
from fakes.dialogs import Host, until_listening
from textual.events import Key
from textual.pilot import Pilot

from cinch_tui.notifications.presence import COMPOSING, Presence
from cinch_tui.screens.approval import ApprovalScreen
from cinch_tui.screens.dialog import GRACE, PAUSE, Dialog
from cinch_tui.screens.picker import Item, Picker
from harness.messages import ToolCall
from harness.risk import Risk
from harness.user_requests import AllowOnce, ApprovalRequest
from harness.views import TerminalView

RUN = ApprovalRequest(
    ToolCall("1", "shell", {}), "Run command", "ls", Risk("execute"), TerminalView("ls", ""), Path("/shop")
)
ITEMS = [Item("one", "", 1), Item("two", "", 2), Item("three", "", 3)]


async def opened_while_typing(pilot: Pilot[None], app: Host, dialog: Dialog[object], *keys: str) -> None:
    """Put a dialog up, with these keys pressed between its opening and its first picture."""
    shown = app.push_screen(dialog, app.results.append)
    for key in keys:
        app.post_message(Key(key, key if len(key) == 1 else None))
    await shown
    await until_listening(pilot)
    await pilot.pause()


@pytest.mark.parametrize(
    ("keys", "value"), [(["enter"], 1), (["down", "enter"], 2), (["t", "h", "enter"], 3), (["escape"], None)]
)
async def test_keys_that_come_before_a_list_is_drawn_are_for_the_list(keys: list[str], value: int | None):
    app = Host()

    async with app.run_test() as pilot:
        await opened_while_typing(pilot, app, Picker("Which?", ITEMS), *keys)
        await until(pilot, lambda: app.results)

        assert app.results == [value]
        assert app.typed == []


async def test_keys_that_come_before_a_list_is_drawn_are_for_the_prompt_while_the_user_types():
    app = Host()

    async with app.run_test() as pilot:
        await opened_while_typing(pilot, app, Picker("Which?", ITEMS, grace=0.05), "t", "h", "enter")
        await pilot.press("enter")

        assert app.results == [1]
        assert "".join(app.typed) == "th"


async def test_nothing_is_allowed_by_a_key_that_came_before_the_question():
    app = Host()

    async with app.run_test() as pilot:
        await opened_while_typing(pilot, app, ApprovalScreen(RUN, grace=0.05), "y", "enter")
        answered = list(app.results)
        await pilot.press("y")

        assert answered == []
        assert app.results == [AllowOnce()]
        assert "".join(app.typed) == "y"


async def test_typing_in_the_middle_of_a_sentence_extends_the_grace_period(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
):
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-x")
    app = chat(tmp_path)
    now = 100.0

    async with app.run_test() as pilot:
        await ready(pilot, app)
        app.controller.presence = Presence(lambda: now)
        app.controller.presence.typed()
        with_nothing_typed = app.controller.grace()
        app.controller.view.prompt.text = "yes, and then"
        in_mid_sentence = app.controller.grace()
        now += COMPOSING
        long_ago = app.controller.grace()

    assert (with_nothing_typed, in_mid_sentence, long_ago) == (GRACE, PAUSE, GRACE)
