from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from textual.events import Key, Paste

from cinch_tui.terminal.background import ReplyParser
from cinch_tui.terminal.paste_parser import BEGINS, ENDS, PasteParser

TYPED = st.text("ab", max_size=4)
TEXTS = st.text("ab\n\t\x00[漢20", max_size=12)
TALKS = st.lists(st.tuples(TYPED, TEXTS), max_size=4)


def heard(parser: ReplyParser, chunks: list[str]) -> list[tuple[str, str]]:
    events = [event for chunk in chunks for event in parser.feed(chunk)]
    return [
        ("pasted", e.text) if isinstance(e, Paste) else ("key", e.key) for e in events if isinstance(e, Key | Paste)
    ]


def cut(text: str, places: list[int]) -> list[str]:
    edges = [0, *sorted({place for place in places if 0 < place < len(text)}), len(text)]
    return [text[start:end] for start, end in pairwise(edges) if start < end]


@settings(max_examples=200, deadline=None)
@given(talk=TALKS, places=st.lists(st.integers(0, 80), max_size=8))
def test_however_it_is_cut_the_same_is_received_as_by_textual(talk: list, places: list) -> None:
    chunks = cut("".join(f"{typed}{BEGINS}{text}{ENDS}" for typed, text in talk), places)

    assert heard(PasteParser(), chunks) == heard(ReplyParser(), chunks)


@pytest.mark.parametrize("typed", ["\x1b[A", "x"])
def test_keys_in_a_paste_are_text_and_after_it_keys(typed: str) -> None:
    reported = heard(PasteParser(), [f"{BEGINS}one\x1b[Btwo", f" three{ENDS}{typed}"])

    assert reported == [("pasted", "one[Btwo three"), ("key", "up" if typed != "x" else "x")]
