from __future__ import annotations

from cinch_tui.plain.view_lines import diff_lines, shorten, strip_markdown, view_lines
from harness.views import DiffView, ListingView, TerminalView, TodoItem, TodoView

OLD = "".join(f"line {number}\n" for number in range(1, 21))


def test_a_change_is_described_in_text_before_its_lines():
    new = (
        OLD.replace("line 2\n", "line two\n").replace("line 10\n", "").replace("line 20\n", "line 20\nmore\nand more\n")
    )

    lines = diff_lines(DiffView("a.txt", OLD, new))

    assert [line for line in lines if line.startswith("Change")] == [
        "Change 1 of 3: Changed line 2",
        "Change 2 of 3: Removed line 10",
        "Change 3 of 3: Added lines 20–21",
    ]
    assert lines[1:6] == ["  line 1", "- line 2", "+ line two", "  line 3", "  line 4"]


def test_a_new_file_and_one_that_goes_are_reported():
    assert diff_lines(DiffView("a.txt", None, "x\ny\n")) == ["New file a.txt, 2 lines", "+ x", "+ y"]
    assert diff_lines(DiffView("a.txt", "x\n", None)) == ["Deleted file a.txt, 1 line"]


def test_notes_follow_a_change():
    assert view_lines(DiffView("a.txt", None, "x\n", "new errors:\n1: \x1b[31mbad"))[-2:] == ["new errors:", "1: bad"]


def test_long_text_is_truncated_in_the_middle():
    lines = shorten([str(number) for number in range(100)], 4)

    assert lines == ["0", "1", "[96 more lines]", "98", "99"]


def test_lists_and_outputs_are_lines_without_control_sequences():
    assert view_lines(TerminalView("ls", "\x1b[31ma\x1b[0m\nb\n", 0)) == ["a", "b"]
    assert view_lines(ListingView("x in .", ("a", "b"), 5)) == ["x in .: 5", "a", "b", "and 3 more"]
    assert view_lines(TodoView((TodoItem("test", "in_progress"),))) == ["now: test"]


def test_rows_of_a_table_name_their_columns():
    rows = ("| Effect | Rule | Use |", "| --- | --- | --- |", r"| deny | `bash(a \| b)` |  |", "| allow | `x` | 2× |")
    report = "\n".join(("All rules.", "", *rows, "", "The end."))

    shown = strip_markdown(report).split("\n")

    assert shown == [
        "All rules.",
        "",
        "Effect: deny; Rule: bash(a | b)",
        "Effect: allow; Rule: x; Use: 2×",
        "",
        "The end.",
    ]
