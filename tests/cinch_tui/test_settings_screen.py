from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from fakes.dialogs import Host
from textual.pilot import Pilot
from textual.widgets import Input, Static

from cinch_tui.app.themes import BUILTIN_FOLDER, load_theme
from cinch_tui.config.layers import Sources
from cinch_tui.config.names import value_of
from cinch_tui.config.setting import Value
from cinch_tui.config.settings import Settings
from cinch_tui.config.store import SettingStore
from cinch_tui.screens.settings import SettingsActions, SettingsScreen
from cinch_tui.widgets.item_list import ItemList
from harness.errors import CinchError

OWN = '# mine\n[ui]\ntheme = "paper"  # by day\nmotion = "full"\n\n[limits]\nmax_turns = 9\n'
PROJECT = "[limits]\nmax_turns = 3\n"


class Bench:
    """A settings screen on files of its own, with the changes that took effect and the text an editor would write."""

    def __init__(self, folder: Path, own: str = OWN, picked: str | None = None) -> None:
        self.file = folder / "config.toml"
        self.file.write_text(own)
        (folder / "project.toml").write_text(PROJECT)
        self.effects: list[tuple[str, Value]] = []
        self.edited: str | None = None
        self.picked = picked
        flags: dict[str, Value] = {"approval.mode": "off"}
        # A picture must not depend on where the test runs.
        sources = Sources(self.file, folder / "project.toml", {}, folder / "trust.json", flags)
        self.live: dict[str, object] = {}
        hands = SettingsActions(self.apply, self.edit, {"ui.theme": self.pick}, lambda: self.live)
        self.app = Host(SettingsScreen(SettingStore(sources), hands))

    def apply(self, settings: Settings, touched: frozenset[str]) -> None:
        self.effects.extend((name, value_of(settings, name)) for name in sorted(touched))
        self.live.update((name, value_of(settings, name)) for name in touched & self.live.keys())

    def edit(self, path: Path) -> None:
        if self.edited is None:
            raise CinchError("there is no editor")
        path.write_text(self.edited)

    async def pick(self) -> str | None:
        return self.picked

    @property
    def screen(self) -> SettingsScreen:
        assert isinstance(self.app.screen, SettingsScreen)
        return self.app.screen

    def lines(self) -> list[str]:
        items = self.screen.query_one(ItemList)
        return [items.render_line(y).text.rstrip() for y in range(items.size.height)]

    def text(self, of: str) -> str:
        return str(self.screen.query_one(of, Static).render())

    async def press(self, pilot: Pilot[None], *keys: str) -> None:
        for key in keys:
            await pilot.press(key)
            await pilot.app.workers.wait_for_complete()
            await pilot.pause()

    async def find(self, pilot: Pilot[None], name: str) -> None:
        await self.press(
            pilot, *(key for letter in name for key in [{".": "full_stop", "_": "underscore"}.get(letter, letter)])
        )


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    return Bench(tmp_path)


async def test_settings_are_grouped_with_value_and_source(bench: Bench):
    async with bench.app.run_test(size=(80, 40)):
        shown = bench.lines()

    assert shown[0] == "Model"
    turns = next(line for line in shown if line.startswith("  max_turns "))
    assert turns.split() == ["max_turns", "3", "project"]


async def test_typing_finds_a_setting_by_name_and_then_by_description(bench: Bench):
    async with bench.app.run_test(size=(80, 24)) as pilot:
        await bench.find(pilot, "sideby")
        by_name = bench.lines()
        await pilot.press(*["backspace"] * 6, *"reduced")
        await pilot.pause()
        by_words = bench.lines()

    assert by_name[0].startswith("ui.side_by_side_min_columns")
    assert by_words[0].startswith("ui.motion")


@pytest.mark.parametrize(
    ("name", "keys", "written", "effect"),
    [
        ("ui.motion", "enter", 'motion = "reduced"', ("ui.motion", "reduced")),
        ("ui.motion", "down space", 'motion = "reduced"', ("ui.motion", "reduced")),
        ("ui.title", "down left", "title = false", ("ui.title", False)),
        ("model.thinking", "down right right", 'thinking = "low"', ("model.thinking", "low")),
        ("limits.max_tokens", "enter backspace 1 2 enter", "max_tokens = 12", ("limits.max_tokens", 12)),
    ],
)
async def test_each_kind_of_setting_is_changed_by_key(
    bench: Bench, name: str, keys: str, written: str, effect: tuple[str, Value]
):
    async with bench.app.run_test(size=(80, 24)) as pilot:
        await bench.find(pilot, name)
        await bench.press(pilot, *keys.split())

    assert written in bench.file.read_text().splitlines()
    assert "# mine\n[ui]\n" in bench.file.read_text()
    assert 'theme = "paper"  # by day\n' in bench.file.read_text()
    assert bench.effects[-1] == effect


@pytest.mark.parametrize("key", ["up", "down", "pageup", "pagedown"])
async def test_keys_do_nothing_without_a_match(tmp_path: Path, key: str):
    bench = Bench(tmp_path)
    async with bench.app.run_test(size=(80, 24)) as pilot:
        await bench.press(pilot, *"zzz", key)

        assert bench.app.screen is bench.screen
        assert "".join(bench.lines()) == ""


async def test_a_blank_is_a_letter_while_one_searches(bench: Bench):
    async with bench.app.run_test(size=(80, 24)) as pilot:
        await bench.find(pilot, "ui")
        await bench.press(pilot, "space", "m")
        query = bench.screen.query_one("#filter", Input).value

    assert query == "ui m"
    assert bench.file.read_text() == OWN


async def test_invalid_value_is_reported_and_the_field_stays_open(bench: Bench):
    async with bench.app.run_test(size=(80, 24)) as pilot:
        await bench.find(pilot, "limits.max_duration_s")
        await bench.press(pilot, "enter", *["backspace"] * 3, *"soon", "enter")
        reported, field = bench.text("#message"), bench.screen.query_one("#value", Input)
        stays = field.has_focus and field.display
        await bench.press(pilot, "escape")
        gone = not field.display

    assert reported == "limits.max_duration_s must be a number"
    assert (stays, gone) == (True, True)
    assert bench.file.read_text() == OWN


async def test_a_reset_takes_the_line_out(bench: Bench):
    async with bench.app.run_test(size=(80, 24)) as pilot:
        await bench.find(pilot, "ui.motion")
        await bench.press(pilot, "delete")

    assert bench.file.read_text() == OWN.replace('motion = "full"\n', "")
    assert bench.effects == [("ui.motion", "full")]


@pytest.mark.parametrize(
    ("name", "keys", "place", "reported"),
    [
        (
            "limits.max_turns",
            "enter 5 enter",
            "project.toml, line 2; your file sets 9",
            "3 (project)",
        ),
        ("approval.mode", "down up right", "overridden by the command line", '"off" (flag)'),
    ],
)
async def test_an_overridden_value_is_kept_and_reported(bench: Bench, name: str, keys: str, place: str, reported: str):
    async with bench.app.run_test(size=(140, 24)) as pilot:
        await bench.find(pilot, name)
        before = bench.text("#about")
        await bench.press(pilot, *keys.split())
        after = bench.text("#message")

    assert place in before
    assert after == f"saved, but overridden here: {reported}"
    assert bench.effects == []
    assert bench.file.read_text() != OWN


@pytest.mark.parametrize(("picked", "effects"), [("nord", [("ui.theme", "nord")]), (None, [])])
async def test_setting_with_choices_opens_a_picker(
    tmp_path: Path, picked: str | None, effects: list[tuple[str, Value]]
):
    bench = Bench(tmp_path, picked=picked)

    async with bench.app.run_test(size=(80, 24)) as pilot:
        await bench.find(pilot, "ui.theme")
        await bench.press(pilot, "enter")

    assert bench.effects == effects


async def test_the_file_is_edited_and_what_changed_counts(bench: Bench):
    bench.edited = '[ui]\ntheme = "paper"\nmotion = "reduced"\n'

    async with bench.app.run_test(size=(80, 24)) as pilot:
        await bench.press(pilot, "ctrl+g")

    assert bench.effects == [("ui.motion", "reduced")]


async def test_a_broken_file_is_reported_and_can_be_fixed(tmp_path: Path):
    bench = Bench(tmp_path, own="[ui\n")

    async with bench.app.run_test(size=(140, 24)) as pilot:
        await pilot.pause()
        reported, before = bench.text("#message"), bench.lines()
        await bench.press(pilot, "enter", "space", "delete")
        kept = bench.file.read_text()
        bench.edited = OWN
        await bench.press(pilot, "backspace", "ctrl+g")
        after = bench.lines()

    assert "config.toml, line 1: is not valid TOML" in reported
    assert (before[0], kept, after[0]) == ("", "[ui\n", "Model")


async def test_escape_ends_the_search_and_then_the_screen(bench: Bench):
    async with bench.app.run_test(size=(80, 24)) as pilot:
        await bench.find(pilot, "theme")
        await bench.press(pilot, "escape")
        found = bench.lines()[0]
        await bench.press(pilot, "escape")

    assert found == "Model"
    assert bench.app.results == [None]


async def test_the_cursor_passes_over_titles(bench: Bench):
    async with bench.app.run_test(size=(80, 24)) as pilot:
        await bench.press(pilot, *["down"] * 4)
        name = bench.screen.current
        await bench.press(pilot, "ctrl+home")
        first = bench.screen.current

    assert name is not None
    assert first is not None
    assert (name.key.name, first.key.name) == ("providers.fallback", "model.name")


async def test_a_click_chooses_and_a_second_one_changes(bench: Bench):
    async with bench.app.run_test(size=(80, 24)) as pilot:
        await bench.find(pilot, "ui.title")
        await pilot.click("#items", offset=(3, 0))
        await pilot.app.workers.wait_for_complete()
        await pilot.pause()

    assert bench.effects == [("ui.title", False)]


@pytest.mark.parametrize("theme", ["cinch-dark", "cinch-light"])
@pytest.mark.parametrize("size", [(40, 10), (80, 24), (120, 40), (200, 60)], ids=lambda size: f"{size[0]}x{size[1]}")
def test_picture_of_the_settings(
    snap_compare: Callable[..., bool],
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    size: tuple[int, int],
    theme: str,
):
    monkeypatch.chdir(tmp_path)
    bench = Bench(Path())

    async def show(pilot: Pilot[None]) -> None:
        bench.app.register_theme(load_theme(theme, (BUILTIN_FOLDER,)))
        bench.app.theme = theme
        await pilot.press(*["down"] * 5)
        await pilot.pause()

    assert snap_compare(bench.app, terminal_size=size, run_before=show)


async def test_a_value_overridden_in_this_session_is_reported_until_it_is_changed_here(bench: Bench):
    bench.live.update({"model.thinking": "high", "ui.timestamps": False})

    async with bench.app.run_test(size=(80, 40)) as pilot:
        await bench.find(pilot, "thinking")
        before, reported = bench.lines()[0], bench.text("#about")
        await bench.press(pilot, "enter")
        after = bench.lines()[0]

    assert before == 'model.thinking    "off" · now "high"'
    assert 'now "high" in this session; a change here replaces it' in reported
    assert after.split() == ["model.thinking", '"extra-high"', "yours"]
    assert ("model.thinking", "extra-high") in bench.effects
