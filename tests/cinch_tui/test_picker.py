from __future__ import annotations

from datetime import datetime

import pytest
from fakes.dialogs import Host
from textual.widgets import Static

from cinch_tui.fuzzy_match import match_spans, rank_matches
from cinch_tui.reports.formatting import DAY, ago
from cinch_tui.screens.picker import Item, Picker
from cinch_tui.widgets.item_list import ItemList

MODELS = [
    Item("anthropic/claude-sonnet", "", 1),
    Item("openai/gpt", "", 2),
    Item("ollama/qwen3", "on this machine", 3),
    Item("[red]odd/[/]name\x1b[2J", "in use", 4),
]
NOW = 10_000_000.0


def host(items: list[Item[int]] | None = None, current: int | None = None) -> Host:
    return Host(Picker("Which model?", MODELS if items is None else items, current=current))


def lines(app: Host) -> list[str]:
    items = app.screen.query_one(ItemList)
    return [items.render_line(y).text.strip() for y in range(items.size.height)]


@pytest.mark.parametrize(
    ("keys", "value"),
    [
        ("enter", 1),
        ("down down enter", 3),
        ("down up up enter", 1),
        ("pagedown enter", 4),
        ("ctrl+end enter", 4),
        ("g p t enter", 2),
        ("m a c h enter", 3),
        ("escape", None),
        ("z z z enter escape", None),
    ],
)
async def test_each_key_picks_or_cancels(keys: str, value: int | None):
    app = host()

    async with app.run_test(size=(40, 10)) as pilot:
        await pilot.press(*keys.split())
        await pilot.pause()

    assert app.results == [value]


async def test_a_click_picks():
    app = host()

    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.click("#items", offset=(3, 2))
        await pilot.pause()

    assert app.results == [3]


async def test_the_cursor_starts_on_what_is_in_use():
    app = host(current=4)

    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.press("enter")

    assert app.results == [4]


async def test_names_are_shown_as_they_are_and_obeyed_by_nothing():
    app = host()

    async with app.run_test(size=(80, 24)):
        shown = lines(app)

    assert shown[3].startswith("[red]odd/[/]name")
    assert "\x1b" not in shown[3]
    assert shown[3].split("  ")[-1].strip() == "in use"


async def test_details_are_in_one_column():
    app = host([Item("a", "short", 1), Item("a much longer name", "x" * 200, 2), Item("middle", "in use", 3)])

    async with app.run_test(size=(80, 24)):
        shown = lines(app)

    assert [row.index(detail) for row, detail in zip(shown, ("short", "xxx", "in use"), strict=True)] == [20, 20, 20]


async def test_a_label_too_long_for_its_column_is_cut_and_the_details_stay_aligned():
    app = host([Item("n" * 200, "200K", 1), Item("short", "32K", 2)])

    async with app.run_test(size=(80, 24)):
        long, short = lines(app)

    assert long.index("200K") == short.index("32K")
    assert "…  200K" in long


async def test_ten_thousand_items_are_filtered_and_only_those_seen_are_drawn():
    app = host([Item(f"model-{number}", "", number) for number in range(10_000)])

    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.press("ctrl+end")
        assert lines(app)[-1] == "model-9999"
        await pilot.press(*"9998")
        await pilot.pause()
        assert lines(app) == ["model-9998"]
        assert str(app.screen.query_one("#count", Static).render()) == "1 of 10,000"
        await pilot.press(*["backspace"] * 4, "down", "enter")

    assert app.results == [1]


async def test_later_items_keep_filter_and_cursor():
    app = host()

    async with app.run_test(size=(80, 24)) as pilot:
        assert isinstance(app.screen, Picker)
        await pilot.press("o", "down")
        await pilot.pause()
        before = lines(app)
        app.screen.refill([Item("o", "", 9), *MODELS, Item("zebra", "", 8)], "asking")
        shown = lines(app)
        count = str(app.screen.query_one("#count", Static).render())
        await pilot.press("enter")

    assert before[1] == shown[2]
    assert shown[2].startswith("ollama/qwen3")
    assert shown[0] == "o"
    assert count == "5 of 6 · asking"
    assert app.results == [3]


async def test_the_cursor_moves_to_the_first_line_if_its_line_is_removed():
    app = host(current=4)

    async with app.run_test(size=(80, 24)) as pilot:
        assert isinstance(app.screen, Picker)
        app.screen.refill(MODELS[:2])
        await pilot.press("enter")

    assert app.results == [1]


@pytest.mark.parametrize(
    ("keys", "value"),
    [
        ("n e w 7 enter", "new7"),
        ("g p t enter", 2),
        ("o d d enter", 4),
        ("escape", None),
    ],
)
async def test_typed_text_is_offered_if_no_item_contains_it(keys: str, value: str | int | None):
    picker = Picker[str | int]("Which model?", MODELS, typed=lambda text: Item(text, "as typed", text))
    app = Host(picker)

    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.press(*keys.split())
        await pilot.pause()

    assert app.results == [value]


async def test_an_empty_list_is_labelled_and_enter_picks_nothing():
    app = host([])

    async with app.run_test() as pilot:
        await pilot.press("enter", "down")
        assert str(app.screen.query_one("#count", Static).render()) == "no items"
        await pilot.press("escape")

    assert app.results == [None]


@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        (-5, "just now"),
        (59, "just now"),
        (60, "1 minute ago"),
        (3_599, "59 minutes ago"),
        (7_200, "2 hours ago"),
        (6 * DAY, "6 days ago"),
        (7 * DAY, datetime.fromtimestamp(NOW - 7 * DAY).strftime("%Y-%m-%d")),
    ],
)
def test_a_time_is_shown_in_everyday_form(seconds: float, words: str):
    assert ago(NOW - seconds, NOW) == words


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("", [0, 1, 2, 3]),
        ("read", [1, 0, 3]),
        ("file read", [0, 3]),
        ("rdf", [0, 3]),
        ("READ", [1, 0, 3]),
        ("x", []),
    ],
)
def test_the_closest_match_comes_first(query: str, expected: list[int]):
    assert rank_matches(query, ["to read file", "read", "grep", "unread files"]) == expected


def test_letters_that_match_are_distinguished():
    assert match_spans("rf x", "Read file") == [(0, 1), (5, 6)]
    assert match_spans("file", "Read file") == [(5, 9)]
    assert match_spans("s", "ß") == []


def test_picture_of_a_picker(snap_compare):
    items = [Item(f"anthropic/claude-{number}", "in use" if number == 3 else "", number) for number in range(40)]

    assert snap_compare(host(items), terminal_size=(80, 24), press=["9", "space", "c", "l", "u", "down"])


def test_unmatched_letters_are_searched_only_once():
    assert rank_matches("abcdefgx", ["abcdefg" * 3_000]) == []
