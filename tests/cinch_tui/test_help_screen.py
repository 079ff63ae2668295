from __future__ import annotations

import pytest
from fakes.dialogs import Host
from textual.widgets import Static

from cinch_tui.commands.builtin import builtin_commands
from cinch_tui.keymap import KEYS
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


async def test_the_programs_help_tells_every_key_and_command():
    app = Host(help_screen())

    async with app.run_test(size=(120, 400)):
        content = app.screen.query_one("#sections Static", Static)
        shown = "\n".join(strip.text for strip in content.render_lines(content.size.region))

    assert all(key.label.split(" or ")[0] in shown for key in KEYS)
    assert all(command.name in shown for command in builtin_commands().commands)
    for words in ("h ", "Choose among the changes", "Leave this change out and say why", "Put the whole file back"):
        assert words in shown


def test_picture_of_the_help(snap_compare):
    assert snap_compare(host(), terminal_size=(80, 24))


def test_picture_of_the_help_on_a_small_screen(snap_compare):
    assert snap_compare(host(), terminal_size=(40, 10))
