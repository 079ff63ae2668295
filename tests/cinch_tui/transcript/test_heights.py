from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from cinch_tui.transcript.heights import Heights

values = st.lists(st.integers(0, 9), min_size=1, max_size=60)


@given(values, st.integers(0, 700))
def test_a_row_is_found_in_the_item_that_covers_it(heights: list[int], row: int) -> None:
    tree = Heights(heights)

    index, inside = tree.find(row)

    if row < sum(heights):
        assert sum(heights[:index]) + inside == row
        assert inside < heights[index]
    else:
        assert index == len(heights) - 1


@given(values, st.lists(st.tuples(st.integers(0, 59), st.integers(0, 9)), max_size=20), st.integers(0, 60))
def test_sums_follow_changes_and_cuts(heights: list[int], changes: list[tuple[int, int]], count: int) -> None:
    tree = Heights(heights)

    for index, value in changes:
        heights[index % len(heights)] = value
        tree[index % len(heights)] = value
    heights = heights[:count]
    tree.truncate(count)
    heights.append(3)
    tree.extend([3])

    assert tree.total == sum(heights)
    assert [tree.before(index) for index in range(len(heights))] == [sum(heights[:i]) for i in range(len(heights))]
