from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.errors import LanguageServerError
from tools.lsp.text_positions import ENCODINGS, Encoding, Lines, Spot, SpotEdit, characters, find_symbol, units

TEXT = 'é = "😀"; value.name\r\nnext\rlast::name(x->y)\nself.name, rename'


@pytest.mark.parametrize(("encoding", "column"), [("utf-8", 19), ("utf-16", 16), ("utf-32", 15)])
def test_columns_are_counted_in_the_encoding_of_the_server(encoding: Encoding, column: int) -> None:
    lines = Lines(TEXT, encoding)

    spot = find_symbol(lines, 1, "name")

    assert spot == Spot(0, column)
    assert TEXT[lines.offset(spot) :].startswith("name\r\n")


@pytest.mark.parametrize(
    ("line", "symbol", "spot"),
    [
        (1, "value.name", Spot(0, 15)),
        (3, "last::name", Spot(2, 6)),
        (3, "x->y", Spot(2, 14)),
        # A whole word, not a part of another one.
        (4, "name", Spot(3, 5)),
        (4, "rename", Spot(3, 11)),
        (3, "(", Spot(2, 10)),
    ],
)
def test_symbol_is_found_on_its_line(line: int, symbol: str, spot: Spot) -> None:
    assert find_symbol(Lines(TEXT, "utf-32"), line, symbol) == spot


@pytest.mark.parametrize(("line", "error"), [(5, "has 4 lines"), (0, "has 4 lines"), (2, "It is on lines 1, 3, 4")])
def test_symbol_that_is_not_there_is_explained(line: int, error: str) -> None:
    with pytest.raises(LanguageServerError, match=error):
        find_symbol(Lines(TEXT, "utf-16"), line, "name")


@given(st.text(st.characters(exclude_categories=["Cs"])), st.sampled_from(ENCODINGS), st.data())
def test_offsets_survive_the_way_to_a_server_and_back(text: str, encoding: Encoding, data: st.DataObject) -> None:
    at = data.draw(st.integers(0, len(text)))

    assert characters(text, units(text[:at], encoding), encoding) == at
    assert characters(text, units(text, encoding) + 5, encoding) == len(text)


@pytest.mark.parametrize(
    ("edits", "error"),
    [
        ([SpotEdit(Spot(0, 0), Spot(0, 5), "a"), SpotEdit(Spot(0, 4), Spot(0, 6), "b")], "overlap"),
        ([SpotEdit(Spot(0, 5), Spot(0, 4), "a")], "ends before its start"),
        ([SpotEdit(Spot(9, 0), Spot(9, 1), "a")], "line that the file does not have"),
    ],
)
def test_impossible_edits_are_refused(edits: list[SpotEdit], error: str) -> None:
    with pytest.raises(LanguageServerError, match=error):
        Lines(TEXT, "utf-16").splices(edits)
