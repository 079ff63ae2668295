from __future__ import annotations

import re

import pytest
from fakes.dialogs import Host
from textual.widgets import Static

from cinch_tui.commands.builtin import builtin_commands
from cinch_tui.keybindings.keymap import set_user_keys
from cinch_tui.keybindings.table import KEYS
from cinch_tui.keybindings.user_keys import rows_of
from cinch_tui.screens.help import HelpScreen, Section, help_screen

SECTIONS = [
    Section("Keys", (("Enter", "send"), ("Ctrl+C", "copy the selection, else stop, else clear, else quit"))),
    Section("Session", (("/load [id]", "go on with [bold]that[/bold] session"), ("/quit", "leave"))),
    Section("Many", tuple((f"/command-{number}", "does it") for number in range(60))),
]


def host() -> Host:
    return Host(HelpScreen(SECTIONS))


@pytest.mark.parametrize("key", ["escape", "q", "f1", "enter"])
async def test_each_of_its_keys_closes_it(key: str):
    app = host()

    async with app.run_test(size=(40, 10)) as pilot:
        await pilot.press(key)
        await pilot.pause()
        assert len(app.screen_stack) == 1

    assert app.results == [None]


async def test_it_scrolls_by_keys():
    app = host()

    async with app.run_test(size=(40, 10)) as pilot:
        sections = app.screen.query_one("#sections")
        places: list[int] = []
        for key in ("j", "k", "down", "up", "space", "pageup", "end"):
            await pilot.press(key)
            await pilot.pause()
            places.append(sections.scroll_offset.y)

    assert places[:4] == [1, 0, 1, 0]
    assert places[4] > 1
    assert places[5] == 0
    assert places[6] == sections.max_scroll_y


def shown_in(app: Host) -> str:
    content = app.screen.query_one("#rows", Static)
    return "\n".join(strip.text for strip in content.render_lines(content.size.region))


async def test_typing_filters_and_escape_shows_everything_again():
    app = host()

    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.press("slash", *"ctrl stop")
        await pilot.pause()
        found = shown_in(app)
        await pilot.press("escape")
        await pilot.pause()
        again = shown_in(app)
        await pilot.press("escape")
        await pilot.pause()

    assert "Ctrl+C" in found
    assert "/load" not in found
    assert "Enter" not in found
    assert "/load" in again
    assert app.results == [None]


async def test_no_match_is_reported_and_a_title_finds_its_rows():
    app = host()

    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.press("slash", *"qqq")
        await pilot.pause()
        nothing = shown_in(app)
        await pilot.press("ctrl+u", *"session")
        await pilot.pause()
        titled = shown_in(app)

    assert "no matches" in nothing
    assert "/load" in titled
    assert "/quit" in titled


async def test_the_help_has_the_keys_of_the_user():
    set_user_keys({"chat.search": "f20", "chat.sessions": ""})
    try:
        app = Host(help_screen())
        async with app.run_test(size=(120, 400)):
            shown = shown_in(app)
    finally:
        set_user_keys({})

    assert re.search(r"F20 +find in the conversation", shown)
    assert re.search(r"no key +list, search and resume sessions", shown)


async def test_the_programs_help_reports_every_key_and_command():
    app = Host(help_screen())

    async with app.run_test(size=(120, 400)):
        shown = shown_in(app)

    assert all(row.label.split(" or ")[0] in shown for row in rows_of(KEYS, {}))
    assert all(command.name in shown for command in builtin_commands().commands)
    for words in ("h ", "review the changes hunk by hunk", "skip this change with a reason", "revert the whole file"):
        assert words in shown


async def test_help_opens_with_the_essentials_and_the_users_own_keys():
    set_user_keys({"chat.abort": "f12"})
    try:
        app = Host(help_screen())
    finally:
        set_user_keys({})
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.pause()
        first = [line.strip() for line in shown_in(app).splitlines()[:12]]

    assert first[0] == "The essentials"
    for start in ("@  ", "!  ", "/  ", "Enter  ", "Alt+Enter  ", "F12  ", "y / n  "):
        assert any(line.startswith(start) for line in first), start


def test_picture_of_the_help(snap_compare):
    assert snap_compare(host(), terminal_size=(80, 24))


def test_picture_of_the_help_with_what_was_found(snap_compare):
    assert snap_compare(host(), terminal_size=(80, 24), press=["slash", *"stop"])


def test_picture_of_the_help_on_a_small_screen(snap_compare):
    assert snap_compare(host(), terminal_size=(40, 10))
