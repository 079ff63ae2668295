from __future__ import annotations

import pytest
from rich.cells import cell_len
from rich.style import Style

from cinch_tui.rendering.code import CodeLayout, lexer_for_language
from cinch_tui.rendering.diff import UnifiedDiff, diff_lines, diff_stat
from cinch_tui.rendering.styles import CodeStyles, DiffStyles
from harness.views import DiffView


def plain(view: DiffView, width: int = 40, **options: int) -> list[str]:
    return [line.plain.rstrip() for line in diff_lines(view, width, DiffStyles(), **options)]


def numbered(count: int) -> str:
    return "".join(f"line {number}\n" for number in range(1, count + 1))


def test_a_change_is_between_its_context_with_numbers_and_signs():
    old = numbered(9)

    lines = plain(DiffView("a.txt", old, old.replace("line 5\n", "line five\n")), width=60)

    assert lines == [
        "2 2   line 2",
        "3 3   line 3",
        "4 4   line 4",
        "5   - line 5",
        "  5 + line five",
        "6 6   line 6",
        "7 7   line 7",
        "8 8   line 8",
    ]


def test_distant_changes_are_separated_by_the_number_of_lines_between():
    old = numbered(30)
    new = old.replace("line 3\n", "").replace("line 20\n", "line 20\nmore\n")

    lines = plain(DiffView("a.txt", old, new), context=1)

    assert lines == [
        " 2   line 2",
        " 3 - line 3",
        " 3   line 4",
        "   ⋯ 15 unchanged lines",
        "19   line 20",
        "20 + more",
        "21   line 21",
    ]


def test_neighbouring_changes_share_their_context():
    old = numbered(9)
    new = old.replace("line 3\n", "3\n").replace("line 6\n", "6\n")

    lines = plain(DiffView("a.txt", old, new), context=2)

    assert [line[2:].strip() for line in lines] == [
        *("line 1", "line 2", "- line 3", "+ 3", "line 4", "line 5", "- line 6", "+ 6", "line 7", "line 8"),
    ]


def test_a_new_and_a_deleted_file_show_every_line_with_one_number():
    assert plain(DiffView("a.txt", None, "one\ntwo\n")) == ["1 + one", "2 + two"]
    assert plain(DiffView("a.txt", "one\ntwo\n", None)) == ["1 - one", "2 - two"]


@pytest.mark.parametrize(
    ("old", "new", "word"),
    [(None, "", "a new, empty file"), ("", None, "deletes an empty file"), ("same\n", "same\n", "no changes")],
)
def test_nothing_to_show_is_described_in_text(old: str | None, new: str | None, word: str):
    assert plain(DiffView("a.txt", old, new))[0].endswith(word)


def test_a_missing_last_newline_is_reported():
    lines = plain(DiffView("a.txt", "one\ntwo", "one\ntwo\n"))

    assert lines == [
        "1   one",
        "2 - two",
        "  \\ no newline at the end of the file",
        "2 + two",
    ]


def test_newline_styles_are_quiet_when_alike_and_visible_when_changed():
    assert plain(DiffView("a.txt", "one\r\ntwo\r\n", "one\r\n2\r\n")) == ["1   one", "2 - two", "2 + 2"]
    assert plain(DiffView("a.txt", "one\r\n", "one\n")) == ["1 - one␍", "1 + one"]


def test_control_characters_are_shown_and_never_obeyed():
    hostile = "\x1b[2Jgone\x07\x7f\x9b31m \u202ereversed\u2028next\ud800\n"

    (line,) = plain(DiffView("a.txt", None, hostile), width=80)

    assert line == "1 + ␛[2Jgone␇␡⟨U+009B⟩31m ⟨U+202E⟩reversed⟨U+2028⟩next⟨U+D800⟩"


def test_long_lines_wrap_under_themselves_and_every_line_has_the_width():
    lines = diff_lines(DiffView("a.txt", None, "x" * 50 + "\n"), 34, DiffStyles())

    assert [line.plain for line in lines] == ["1 + " + "x" * 30, "    " + "x" * 20 + " " * 10]


def test_wide_characters_are_never_cut_in_two():
    lines = diff_lines(DiffView("a.txt", None, "한글" * 20 + "\n"), 35, DiffStyles())

    assert {cell_len(line.plain) for line in lines} == {35}
    assert "".join(line.plain[4:].strip() for line in lines) == "한글" * 20


def test_a_very_long_line_is_truncated_with_a_note():
    lines = plain(DiffView("a.min.js", None, "x" * 1_000_000), width=80)

    assert len(lines) < 1_500
    assert "900,000 more characters" in "".join(line.strip() for line in lines)


def test_the_limit_states_how_much_it_hides():
    lines = plain(DiffView("a.txt", None, numbered(60)), limit=50)

    assert len(lines) == 51
    assert lines[-1] == "… 10 more lines"


@pytest.mark.parametrize("width", [1, 5, 12, 40])
def test_any_width_is_filled_exactly(width: int):
    old = numbered(12)

    lines = diff_lines(DiffView("a.py", old, old.replace("line 5", "행 5")), width, DiffStyles())

    assert all(cell_len(line.plain) == width for line in lines)


def test_code_keeps_its_highlighting_under_the_colour_of_the_change():
    styles = DiffStyles(added=Style(bgcolor="green"), code=CodeStyles(keyword=Style(bold=True)))

    (line,) = diff_lines(DiffView("a.py", None, "return x\n"), 40, styles)

    assert line.style == Style(bgcolor="green")
    assert [line.plain[span.start : span.end] for span in line.spans if span.style == Style(bold=True)] == ["return"]


def test_only_the_words_that_changed_are_marked():
    styles = DiffStyles(added_word=Style(underline=True), removed_word=Style(strike=True))

    lines = diff_lines(DiffView("a.txt", "let total = 1\n", "let amount = 1\n"), 40, styles)

    marked = [
        [line.plain[s.start : s.end] for s in line.spans if s.style in (Style(underline=True), Style(strike=True))]
        for line in lines
    ]
    assert marked == [["total"], ["amount"]]


def test_the_lexer_sees_what_is_above_a_change():
    old = '"""\n' + "text\n" * 8 + "return\n" + "text\n" * 4 + '"""\n'
    styles = DiffStyles(code=CodeStyles(keyword=Style(bold=True)))

    lines = diff_lines(DiffView("a.py", old, old.replace("return", "return it")), 40, styles)

    assert not [span for line in lines for span in line.spans if span.style == Style(bold=True)]


def test_stat_counts_added_and_removed_lines():
    assert diff_stat(DiffView("a", "1\n2\n3\n", "1\ntwo\nzwei\n3\n")) == (2, 1)
    assert diff_stat(DiffView("a", None, "1\n2\n")) == (2, 0)


def test_moved_blocks_of_a_long_file_are_found_by_their_unique_lines():
    lines = [f"line {number}\n" for number in range(3_000)]
    moved = [*lines[:500], *lines[600:2_500], *lines[500:600], *lines[2_500:]]

    assert diff_stat(DiffView("a", "".join(lines), "".join(moved))) == (100, 100)


def test_a_line_far_down_a_long_file_is_lexed_alone():
    text = "".join(f"return {number}\n" for number in range(50_000))
    layout = UnifiedDiff(DiffView("a.py", None, text), 80, DiffStyles())

    assert len(layout) == 50_000
    assert layout.line(49_999).plain.rstrip() == "50000 + return 49999"


def test_runs_of_blanks_and_invisible_characters_of_a_changed_line_are_shown():
    view = DiffView("a.py", "x = 1\n", f"x = 1{' ' * 900}; y\u200b = 2\n")

    assert "2 + x = 1 ⋯ 900 blanks ⋯ ; y⟨U+200B⟩ = 2" in "\n".join(plain(view, width=80)).replace("1 + ", "2 + ")


def test_diff_in_a_code_block_is_coloured():
    styles = CodeStyles(inserted=Style(color="green"), deleted=Style(color="red"))

    layout = CodeLayout("-old\n+new\n same", 20, lexer_for_language("diff"), styles)

    assert [[str(span.style) for span in layout.line(y).spans] for y in range(3)] == [["red"], ["green"], []]
