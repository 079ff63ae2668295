from __future__ import annotations

from pathlib import Path

import pytest
from textual.color import Color

from cinch_tui.theming import BUILTIN_FOLDER, DEFAULT_THEME, load_theme, theme_names
from harness.errors import ConfigError

BUILTIN = ("cinch-dark", "cinch-light", "high-contrast", "mono", "solarized")


def contrast(first: str, second: str) -> float:
    """The ratio of WCAG 2, from 1 to 21."""

    def luminance(colour: str) -> float:
        channels = [channel / 255 for channel in Color.parse(colour).rgb]
        linear = [c / 12.92 if c <= 0.03928 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
        return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]

    lighter, darker = sorted((luminance(first), luminance(second)), reverse=True)
    return (lighter + 0.05) / (darker + 0.05)


def test_all_themes_are_found():
    assert theme_names() == BUILTIN
    assert DEFAULT_THEME in BUILTIN


@pytest.mark.parametrize("name", BUILTIN)
def test_text_can_be_read_on_every_ground(name: str):
    theme = load_theme(name)

    assert theme.foreground is not None
    for ground in (theme.background, theme.surface, theme.panel):
        assert ground is not None
        assert contrast(theme.foreground, ground) >= (12 if name == "high-contrast" else 4.5), ground


@pytest.mark.parametrize("name", BUILTIN)
@pytest.mark.parametrize("meaning", ["primary", "secondary", "accent", "success", "warning", "error"])
def test_meaning_can_be_told_from_the_ground(name: str, meaning: str):
    theme = load_theme(name)

    assert theme.background is not None
    assert contrast(getattr(theme, meaning), theme.background) >= (7 if name == "high-contrast" else 3.5)


def test_mono_has_no_hue():
    theme = load_theme("mono")

    colours = (theme.primary, theme.secondary, theme.success, theme.warning, theme.error, theme.background)
    assert all(Color.parse(colour or "").hsl.s == 0 for colour in colours)


def test_unknown_theme_names_the_nearest():
    with pytest.raises(ConfigError, match="did you mean solarized"):
        load_theme("solarised")


def test_own_folder_comes_first(tmp_path: Path):
    text = (BUILTIN_FOLDER / "mono.toml").read_text().replace("#000000", "#010101")
    (tmp_path / "mono.toml").write_text(text)

    assert load_theme("mono", (tmp_path, BUILTIN_FOLDER)).background == "#010101"


@pytest.mark.parametrize(
    ("line", "complaint"),
    [
        ('primry = "#ffffff"', "unknown key 'primry'; did you mean primary"),
        ('primary = "#gggggg"', "primary"),
        ("primary = 7", "primary must be a colour"),
        ("dark = 1", "dark must be true or false"),
        ("primary =", "bad.toml"),
        ("variables = 3", "variables must be a table"),
    ],
)
def test_bad_theme_names_file_and_key(tmp_path: Path, line: str, complaint: str):
    key = line.split()[0]
    kept = [text for text in (BUILTIN_FOLDER / "cinch-dark.toml").read_text().splitlines() if not text.startswith(key)]
    (tmp_path / "bad.toml").write_text("\n".join([line, *kept]))

    with pytest.raises(ConfigError, match=complaint):
        load_theme("bad", (tmp_path,))
