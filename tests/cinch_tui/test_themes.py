from __future__ import annotations

from pathlib import Path

import pytest
from textual.color import Color

from cinch_tui.app.themes import BUILTIN_FOLDER, DEFAULT_THEME, load_theme, theme_names
from harness.errors import ConfigError

BUILTIN = (
    "ansi",
    "ansi-light",
    "cinch-dark",
    "cinch-light",
    "colour-blind-dark",
    "colour-blind-light",
    "high-contrast",
    "mono-black",
    "mono-white",
    "solarized-dark",
    "solarized-light",
)


def test_all_themes_are_found():
    assert theme_names() == BUILTIN
    assert DEFAULT_THEME in BUILTIN


@pytest.mark.parametrize("name", ["mono-black", "mono-white"])
def test_mono_has_no_hue(name: str):
    theme = load_theme(name)

    colours = (theme.primary, theme.secondary, theme.success, theme.warning, theme.error, theme.background)
    assert all(Color.parse(colour or "").hsl.s == 0 for colour in colours)


def test_unknown_theme_names_the_nearest():
    with pytest.raises(ConfigError, match="did you mean 'solarized-dark'"):
        load_theme("solarised-dark")


def test_own_folder_comes_first(tmp_path: Path):
    text = (BUILTIN_FOLDER / "mono-white.toml").read_text().replace("#000000", "#010101")
    (tmp_path / "mono-white.toml").write_text(text)

    assert load_theme("mono-white", (tmp_path, BUILTIN_FOLDER)).background == "#010101"


@pytest.mark.parametrize(
    ("line", "complaint"),
    [
        ('primry = "#ffffff"', "unknown key 'primry'; did you mean 'primary'"),
        ('primary = "#gggggg"', "primary"),
        ("primary = 7", "primary must be a colour"),
        ("dark = 1", "dark must be true or false"),
        ("primary =", "bad.toml"),
        ("variables = 3", "variables must be a table"),
        ('variables = {scrolbar = "#ffffff"}', "variables: unknown name 'scrolbar'; did you mean 'scrollbar'"),
        ('variables = {scrollbar = "#fffffg"}', "variables: scrollbar"),
        ("based_on = 4", "based_on must be the name of a theme"),
        ('based_on = "cinch-drak"', "bad.toml: based_on: unknown theme 'cinch-drak'; did you mean 'cinch-dark'"),
        ('based_on = "bad"', "bad.toml: based_on: unknown theme 'bad'"),
    ],
)
def test_bad_theme_names_file_and_key(tmp_path: Path, line: str, complaint: str):
    key = line.split()[0]
    kept = [text for text in (BUILTIN_FOLDER / "cinch-dark.toml").read_text().splitlines() if not text.startswith(key)]
    (tmp_path / "bad.toml").write_text("\n".join([line, *kept]))

    with pytest.raises(ConfigError, match=complaint):
        load_theme("bad", (tmp_path, BUILTIN_FOLDER))


def test_theme_lists_only_its_changes(tmp_path: Path):
    (tmp_path / "mine.toml").write_text(
        'based_on = "solarized-dark"\nprimary = "#ffffff"\nvariables = {scrollbar = "#111111"}'
    )

    theme, base = load_theme("mine", (tmp_path, BUILTIN_FOLDER)), load_theme("solarized-dark")

    assert (theme.name, theme.primary, theme.background) == ("mine", "#ffffff", base.background)
    assert theme.variables == {**base.variables, "scrollbar": "#111111"}


def test_a_user_theme_can_extend_the_one_it_replaces(tmp_path: Path):
    (tmp_path / "cinch-dark.toml").write_text('based_on = "cinch-dark"\nprimary = "#ffffff"')

    theme = load_theme("cinch-dark", (tmp_path, BUILTIN_FOLDER))

    assert (theme.primary, theme.background) == ("#ffffff", load_theme("cinch-dark").background)


def test_themes_based_on_each_other_are_refused(tmp_path: Path):
    (tmp_path / "one.toml").write_text('based_on = "other"')
    (tmp_path / "other.toml").write_text('based_on = "one"')

    with pytest.raises(ConfigError, match=r"other\.toml: based_on: 'one' is itself based on this theme"):
        load_theme("one", (tmp_path, BUILTIN_FOLDER))


def test_error_of_a_base_names_its_own_file(tmp_path: Path):
    (tmp_path / "base.toml").write_text('based_on = "cinch-dark"\nprimary = "#gg0000"')
    (tmp_path / "mine.toml").write_text('based_on = "base"')

    with pytest.raises(ConfigError, match=r"base\.toml: primary"):
        load_theme("mine", (tmp_path, BUILTIN_FOLDER))
