from __future__ import annotations

import pytest
from rich.color import Color as RichColor
from rich.segment import Segment
from rich.style import Style
from textual.color import Color

from cinch_tui.app.themes import load_theme
from cinch_tui.rendering.color_filters import StyleFilter, nearest, with_256_colors


def rgb(number: int) -> tuple[int, int, int]:
    return tuple(RichColor.from_ansi(number).get_truecolor())


def painted(style: str) -> Style:
    (segment,) = StyleFilter(with_256_colors).apply([Segment("x", Style.parse(style))], Color(0, 0, 0))
    assert segment.style
    return segment.style


@pytest.mark.parametrize("theme", ["cinch-dark", "cinch-light"])
@pytest.mark.parametrize("part", ["background", "surface", "panel"])
def test_a_ground_that_looks_grey_stays_grey(theme: str, part: str):
    ground = Color.parse(getattr(load_theme(theme), part))

    red, green, blue = rgb(nearest(*ground.rgb))

    assert red == green == blue
    assert abs(red - ground.brightness * 255) < 10


@pytest.mark.parametrize("theme", ["cinch-dark", "cinch-light"])
def test_grounds_are_distinguished(theme: str):
    colours = load_theme(theme)
    grounds = [colours.background, colours.surface, colours.panel]

    assert len({nearest(*Color.parse(ground or "").rgb) for ground in grounds}) == 3


@pytest.mark.parametrize("colour", ["#2d2126", "#f5dede", "#5a2b30"])
def test_the_ground_of_a_removed_line_is_red(colour: str):
    red, green, blue = rgb(nearest(*Color.parse(colour).rgb))

    assert red > green == blue


@pytest.mark.parametrize("colour", ["#1e2b28", "#dcece0", "#bfe0c8"])
def test_the_ground_of_an_added_line_is_green(colour: str):
    red, green, blue = rgb(nearest(*Color.parse(colour).rgb))

    assert green > red == blue


def test_each_of_the_240_stays_itself():
    assert [number for number in range(16, 256) if rgb(nearest(*rgb(number))) != rgb(number)] == []


def test_only_colours_change():
    style = painted("bold #5aa9e6 on #1f2633")

    assert style.bold
    assert (style.color, style.bgcolor) == (RichColor.from_ansi(75), RichColor.from_ansi(235))


@pytest.mark.parametrize("style", ["bold", "red on default", "color(7)"])
def test_the_colours_of_the_terminal_stay_its_own(style: str):
    assert painted(style) == Style.parse(style)
