from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len
from rich.style import Style

from cinch_tui.rendering.safe_text import plain_output
from cinch_tui.transcript.lines import chop_runs, indented, wrap_runs

STYLE = Style()
texts = st.lists(st.sampled_from([*"ab cd  \n中文。「-", "é", "e\u0301", "👩\u200d👧", "👍"]), max_size=80).map("".join)


def wrapped(text: str, width: int) -> list[str]:
    return [line.text for line in wrap_runs([(text, STYLE)], width)]


@given(texts, st.integers(4, 30))
def test_no_line_is_wider_than_the_view_and_nothing_is_lost(text: str, width: int) -> None:
    for wrap in (wrap_runs, chop_runs):
        lines = wrap([(text, STYLE)], width)

        assert all(cell_len(line.text) <= width for line in lines)
        assert "".join(line.text + line.end for line in lines) == text + "\n"


@given(st.lists(st.tuples(st.sampled_from(["a b", "中文", "\n", "cde "]), st.booleans()), max_size=20))
def test_styles_stay_with_their_characters(pieces: list[tuple[str, bool]]) -> None:
    bold = Style(bold=True)
    runs = [(text, bold if is_bold else STYLE) for text, is_bold in pieces]

    lines = wrap_runs(runs, 6)

    expected = [is_bold for text, is_bold in pieces for character in text if not character.isspace()]
    got = [s.style == bold for line in lines for s in line.segments for character in s.text if not character.isspace()]
    assert got == expected


def test_words_stay_whole_where_they_fit() -> None:
    assert wrapped("the quick brown fox", 10) == ["the quick", "brown fox"]


def test_wide_text_breaks_between_characters_but_not_before_closing_marks() -> None:
    assert wrapped("中文字符，也在", 8) == ["中文字", "符，也在"]


def test_a_gutter_is_not_part_of_what_is_copied() -> None:
    lines = indented(wrap_runs([("one two", STYLE)], 4), ("> ", STYLE), ("  ", STYLE))

    assert [line.text for line in lines] == ["> one", "  two"]
    assert [line.text[line.gutter :] + line.end for line in lines] == ["one ", "two\n"]


def test_command_output_cannot_control_the_terminal() -> None:
    output = "\x1b[31mred\x1b[0m \x1b]0;title\x07done\r\n10%\r100%\n\ta\x08b \u202eevil \x9b2J"

    assert plain_output(output) == "red done\n100%\n    a␈b ⟨U+202E⟩evil "
