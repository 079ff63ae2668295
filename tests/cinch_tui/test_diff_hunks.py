from __future__ import annotations

from random import Random

from hypothesis import given
from hypothesis import strategies as st

from cinch_tui.rendering.diff_rows import changed_words, diff_rows
from harness.views import DiffView
from harness.workspace.hunks import SMALL_GAP, Sides, changed_lines

texts = st.lists(st.sampled_from(["a", "b", "c", "", "  d", "e f"]), max_size=30).map("\n".join)


def sides(old: str, new: str) -> Sides:
    return Sides.of(DiffView("x", old, new))


@given(texts, texts)
def test_the_rows_of_each_side_are_the_sides_lines(old: str, new: str):
    both = sides(old, new)

    rows = diff_rows(both, context=1_000)

    if old != new:
        assert [row.text for row in rows if row.kind in ("removed", "context")] == [
            line.rstrip("\n") for line in both.old
        ]
        assert [row.text for row in rows if row.kind in ("added", "context")] == [
            line.rstrip("\n") for line in both.new
        ]


@given(texts, texts, st.integers(0, 3))
def test_line_numbers_match_their_text(old: str, new: str, context: int):
    both = sides(old, new)

    for row in diff_rows(both, context=context):
        assert row.old is None or both.old[row.old - 1].rstrip("\n") == row.text
        assert row.new is None or both.new[row.new - 1].rstrip("\n") == row.text


@given(st.lists(st.integers(0, 400), min_size=300, max_size=400), st.randoms(use_true_random=False))
def test_long_middles_lose_no_line(numbers: list[int], random: Random):
    shuffled = numbers[:]
    random.shuffle(shuffled)
    old, new = ["first\n", *(f"{n}\n" for n in numbers)], ["1st\n", *(f"{n}\n" for n in shuffled)]
    assert len(old) * len(new) > SMALL_GAP

    rebuilt: list[str] = []
    at = 0
    for change in changed_lines(Sides(old, new)):
        rebuilt += old[at : change.old_from] + new[change.new_from : change.new_to]
        at = change.old_to

    assert rebuilt + old[at:] == new


def test_lines_with_little_in_common_are_not_marked_word_by_word():
    assert changed_words("import os", "def total(self):") == ((), ())
    assert changed_words("a = 1", "a = 2") == (((4, 5),), ((4, 5),))
