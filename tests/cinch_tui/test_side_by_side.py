from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len
from rich.style import Style

from cinch_tui.rendering.diff import DiffOptions, SideBySide, UnifiedDiff, diff_layout
from cinch_tui.rendering.diff_rows import diff_pairs
from cinch_tui.rendering.styles import DiffStyles
from harness.views import DiffView
from harness.workspace.hunks import Sides

OLD = "".join(f"line {number}\n" for number in range(1, 9))
SPLIT = DiffOptions(split=True)

texts = st.lists(st.sampled_from(["a", "b c", "", "  d", "e" * 50, "한글 두 줄" * 4]), max_size=20).map("\n".join)


def plain(view: DiffView, width: int = 41) -> list[str]:
    layout = diff_layout(view, width, DiffStyles(), SPLIT)
    return [layout.line(y).plain.rstrip() for y in range(len(layout))]


def test_changed_lines_are_next_to_their_former_versions():
    lines = plain(DiffView("a.txt", OLD, OLD.replace("line 5\n", "line five\nand more\n")))

    assert lines == [
        "2   line 2          │2   line 2",
        "3   line 3          │3   line 3",
        "4   line 4          │4   line 4",
        "5 - line 5          │5 + line five",
        "                    │6 + and more",
        "6   line 6          │7   line 6",
        "7   line 7          │8   line 7",
        "8   line 8          │9   line 8",
    ]


def test_a_line_added_before_a_changed_one_leaves_both_versions_at_one_height():
    old, new = "total = price(count)\n", "if not count:\n    raise ValueError\ntotal = price(count, tax)\n"

    *_, last = diff_pairs(Sides.of(DiffView("a.py", old, new)))

    assert last.left
    assert last.right
    assert (last.left.text, last.right.text) == ("total = price(count)", "total = price(count, tax)")
    assert last.right.words


def test_the_changed_words_are_marked_on_both_sides():
    styles = DiffStyles(removed_word=Style(bold=True), added_word=Style(underline=True))
    layout = SideBySide(DiffView("a.txt", "the old word\n", "the new word\n"), 41, styles)

    spans = {str(span.style): layout.line(0).plain[span.start : span.end] for span in layout.line(0).spans}

    assert spans["bold"] == "old"
    assert spans["underline"] == "new"


def test_long_lines_wrap_in_their_column_and_both_sides_stay_at_one_height():
    lines = plain(DiffView("a.txt", f"{'x' * 30}\nend\n", "y\nend\n"))

    assert lines == [
        "1 - xxxxxxxxxxxxxxxx│1 + y",
        "    xxxxxxxxxxxxxx  │",
        "2   end             │2   end",
    ]


@given(texts, texts, st.integers(3, 90))
def test_every_line_has_the_width_and_the_rule_is_in_its_middle(old: str, new: str, width: int):
    layout = SideBySide(DiffView("a.py", old, new), width, DiffStyles())

    for y in range(len(layout)):
        line = layout.line(y).plain
        assert cell_len(line) == width
        if "unchanged" not in line and "│" in line:
            assert cell_len(line[: line.index("│")]) == (width - 1) // 2


@pytest.mark.parametrize(
    ("view", "width", "kind"),
    [
        (DiffView("a", "x\n", "y\n"), DiffStyles().split_from, SideBySide),
        (DiffView("a", "x\n", "y\n"), DiffStyles().split_from - 1, UnifiedDiff),
        (DiffView("a", None, "y\n"), 300, UnifiedDiff),
        (DiffView("a", "x\n", None), 300, UnifiedDiff),
    ],
)
def test_the_width_decides_and_one_sided_diffs_stay_whole(view: DiffView, width: int, kind: type):
    assert isinstance(diff_layout(view, width, DiffStyles()), kind)


def test_a_long_unchanged_stretch_is_folded_across_both_sides():
    old = "".join(f"{number}\n" for number in range(100))
    lines = plain(DiffView("a", old, old.replace("\n5\n", "\nfive\n").replace("\n90\n", "\nninety\n")))

    assert any("⋯ 78 unchanged lines" in line for line in lines)


def test_a_missing_last_newline_is_reported_on_its_side():
    assert plain(DiffView("a", "one", "one\n"), 81)[-1].startswith("    no newline at the end of the file")
