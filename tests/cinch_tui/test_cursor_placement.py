from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rich.cells import cell_len, split_graphemes

from cinch_tui.terminal.frame_output import place_cursor

COLUMNS, ROWS = 24, 3
FAMILY, HEART, KEYCAP, FLAG, WAVE = "👩\u200d👩\u200d👧\u200d👦", "❤\ufe0f", "1\ufe0f\u20e3", "🇳🇴", "👋🏽"
CLUSTERS = [FAMILY, HEART, KEYCAP, FLAG, WAVE, "🫩", "e\u0301", "שָׁ", "한", "数", "क्षि"]
TOKENS = re.compile(r"\x1b\[(?P<where>\d*(?:;\d*)?)(?P<what>[HGm])|\x1b\[\?7(?P<wrap>[hl])|(?P<text>[^\x1b])")


def a_cell_or_two_for_each_code_point(text: str, at: int) -> tuple[int, int]:
    """As terminals do that know of no clusters: a family takes eight cells."""
    wide = unicodedata.east_asian_width(text[at]) in "WF"
    return 1, (0 if unicodedata.category(text[at]) in ("Mn", "Me", "Cf") else 2 if wide else 1)


def a_cluster_as_a_whole(text: str, at: int) -> tuple[int, int]:
    """As the newest do, and as we take it."""
    start, end, width = split_graphemes(text[at:])[0][0]
    return end - start, width


def one_cell_for_all_that_is_young(text: str, at: int) -> tuple[int, int]:
    """As terminals of an old Unicode do."""
    return (1, 1) if text[at] >= "\U0001f000" else a_cell_or_two_for_each_code_point(text, at)


TERMINALS = [a_cell_or_two_for_each_code_point, a_cluster_as_a_whole, one_cell_for_all_that_is_young]
Measure = Callable[[str, int], tuple[int, int]]


def shown(frame: str, measure: Measure) -> list[list[str]]:
    """The cells of a terminal that measures so, filled with dots before."""
    cells, (x, y), wraps = [["."] * COLUMNS for _ in range(ROWS)], (0, 0), True
    at = 0
    while at < len(frame):
        token = TOKENS.match(frame, at)
        assert token is not None
        if token["text"] is None:
            at = token.end()
            numbers = [int(number) for number in (token["where"] or "").split(";") if number]
            if token["what"] == "H":
                y, x = numbers[0] - 1, numbers[1] - 1
            elif token["what"] == "G":
                x = numbers[0] - 1
            wraps = token["wrap"] == "h" if token["wrap"] else wraps
            continue
        text = re.split("\x1b", frame[at:], maxsplit=1)[0]
        taken, width = measure(text, 0)
        if x + width > COLUMNS:
            y, x = (min(y + 1, ROWS - 1), 0) if wraps else (y, COLUMNS - width)
        for offset in range(width):
            cells[y][x + offset] = text[:taken] if not offset else ""
        x, at = x + width, at + taken
    return cells


@pytest.mark.parametrize("measure", TERMINALS)
@settings(max_examples=60, deadline=None)
@given(parts=st.lists(st.sampled_from([*CLUSTERS, "a", " ", "bc"]), max_size=7))
def test_the_rest_of_a_line_is_in_its_columns_on_every_terminal(measure: Measure, parts: list[str]) -> None:
    line = "".join(parts)
    width = cell_len(line)
    rest = "|".ljust(COLUMNS - width, "-")
    frame = f"\x1b[2;1H\x1b[1m{line}\x1b[m{rest}\x1b[3;1Hnext"

    cells = shown(place_cursor(frame), measure)

    assert "".join(cells[1][width:]) == rest
    assert "".join(cells[2]) == "next" + "." * (COLUMNS - 4)


@pytest.mark.parametrize("measure", TERMINALS)
def test_cells_below_a_cluster_are_cleared(measure: Measure) -> None:
    cells = shown(place_cursor(f"\x1b[1;3H{HEART}x{FAMILY}"), measure)

    assert "." not in cells[0][2:7]


@pytest.mark.parametrize("measure", TERMINALS)
def test_a_cluster_at_the_edge_leaves_the_next_line_alone(measure: Measure) -> None:
    cells = shown(place_cursor(f"\x1b[1;{COLUMNS - 1}H{FAMILY}"), measure)

    assert set(cells[1]) == {"."}


def test_a_frame_of_unambiguous_text_is_unchanged() -> None:
    frame = "\x1b[1;1H╭─ 数える ─╮\x1b[1mé\x1b[m…"

    assert place_cursor(frame) == frame


def test_text_without_a_known_column_is_unchanged() -> None:
    assert FAMILY in place_cursor(f"\x1b[2J{FAMILY}\n{FAMILY} x")


def test_the_cells_of_an_image_are_unambiguous() -> None:
    cells = "\U0010eeee\u0305\u0305\U0010eeee\u0305\u030d"

    assert f"\x1b[38;2;8;149;123m{cells}" in place_cursor(f"\x1b[3;5H\x1b[38;2;8;149;123m{cells}")
