from __future__ import annotations

import pyte
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rich.color import ColorSystem
from rich.style import Style

from cinch_tui.terminal.frame_output import optimize_sgr

COLUMNS, ROWS = 20, 4
COLOURS = st.sampled_from([None, "default", "red", "bright_blue", "color(200)", "#d7dce5", "#11151c"])
FLAGS = st.sampled_from([None, False, True])
STYLES = st.builds(Style, color=COLOURS, bgcolor=COLOURS, bold=FLAGS, italic=FLAGS, reverse=FLAGS, underline=FLAGS)
TEXTS = st.text("ab c", min_size=1, max_size=6)
PLACES = st.tuples(st.integers(1, ROWS), st.integers(1, COLUMNS - 6))
PIECES = st.lists(st.tuples(st.none() | PLACES, TEXTS, STYLES), max_size=12)


def shown(*frames: str) -> object:
    screen = pyte.Screen(COLUMNS, ROWS)
    for frame in frames:
        pyte.Stream(screen).feed(frame)
    return [[screen.buffer[y][x] for x in range(COLUMNS)] for y in range(ROWS)], screen.cursor.attrs


def frame(pieces: list[tuple[tuple[int, int] | None, str, Style]], system: ColorSystem) -> str:
    return "".join(
        (f"\x1b[{place[0]};{place[1]}H" if place else "") + style.render(text, color_system=system)
        for place, text, style in pieces
    )


@settings(max_examples=40, deadline=None)
@given(pieces=PIECES, more=PIECES, system=st.sampled_from(ColorSystem))
def test_an_optimized_frame_looks_the_same(pieces: list, more: list, system: ColorSystem) -> None:
    first, second = frame(pieces, system), frame(more, system)

    assert shown(optimize_sgr(first), optimize_sgr(second)) == shown(first, second)


def test_an_unchanged_color_is_sent_once() -> None:
    look, strong = Style(color="#ffffff", bgcolor="#000000"), Style(color="#ffffff", bgcolor="#000000", bold=True)
    pieces = [((1, 1), "one", look), ((2, 1), "two", look), (None, "three", strong)]

    reported = optimize_sgr(frame(pieces, ColorSystem.TRUECOLOR))

    assert reported == "\x1b[1;1H\x1b[38;2;255;255;255;48;2;0;0;0mone\x1b[2;1Htwo\x1b[1mthree\x1b[0m"


@pytest.mark.parametrize("data", ["", "text", "\x1b[?2026h", "\x1b]2;a title\x07", "\x1b_Ga=d,q=2\x1b\\"])
def test_unstyled_text_is_unchanged(data: str) -> None:
    assert optimize_sgr(data) == data


def test_a_link_is_left_whole() -> None:
    link = Style(color="red", link="https://example.org").render("here", color_system=ColorSystem.STANDARD)

    assert optimize_sgr(link) == link
