from __future__ import annotations

import re

from hypothesis import given
from hypothesis import strategies as st

from tools.text.truncate import truncate

PIECES = st.sampled_from(
    ["word ", "\n", "\x1b[31m", "\x1b[0m", "\x1b]8;;http://x\x1b\\", "\x1b]0;t\x07", "é", "漢", "🙂"]
)


def test_short_text_is_left_alone():
    cut = truncate("all of it", 30)

    assert (cut.text, cut.omitted, cut.total_bytes) == ("all of it", 0, 9)


def test_beginning_and_end_are_kept_with_the_total_between():
    text = "a" * 6000 + "b" * 4000

    cut = truncate(text, 1000)

    head, tail = cut.text.split("\n[…")
    assert set(head) == {"a"}
    assert tail.endswith("b" * 300)
    assert "10,000 bytes" in cut.text
    assert 1.3 < len(head) / tail.count("b") < 1.7


def test_bytes_are_counted_not_characters():
    assert truncate("é" * 500, 100).total_bytes == 1000


def test_cut_falls_on_a_line_end_where_one_is_near():
    text = "\n".join(f"line {number}" for number in range(1000))

    head, tail = re.split(r"\n\[….*…\]\n", truncate(text, 1000).text)

    assert set(head.splitlines() + tail.splitlines()) <= set(text.splitlines())


@given(st.lists(PIECES, max_size=80).map("".join), st.integers(0, 200))
def test_no_escape_sequence_is_cut(text, limit):
    whole = ("\x1b[31m", "\x1b[0m", "\x1b]8;;http://x\x1b\\", "\x1b]0;t\x07")

    cut = truncate(text, limit)

    rest = cut.text
    for sequence in whole:
        rest = rest.replace(sequence, "")
    assert "\x1b" not in rest
    assert "[31" not in rest
    assert "http" not in rest


@given(st.text(max_size=2000), st.integers(60, 500))
def test_result_is_never_longer_than_allowed(text, limit):
    cut = truncate(text, limit)

    assert len(cut.text) <= max(limit, 70)
    assert cut.omitted == 0 or len(text) > limit
