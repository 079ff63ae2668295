from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.terminal_text import strip_escapes


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain\n\ttext é 漢", "plain\n\ttext é 漢"),
        ("\x1b[31mred\x1b[0m", "red"),
        ("\x1b]0;title\x07x", "x"),
        ("\x1b]8;;http://evil\x1b\\link\x1b]8;;\x1b\\", "link"),
        ("\x1bPq#0\x1b\\after", "after"),
        ("\x9b2Jx", "x"),
        ("\x1bcreset", "reset"),
        ("one\r\ntwo", "one\ntwo"),
        ("evil\rgood", "evil␍good"),
        ("bell\x07 nul\x00 del\x7f", "bell␇ nul␀ del␡"),
        ("unfinished \x1b[", "unfinished ␛["),
        ("a\u202eb", "a⟨U+202E⟩b"),
    ],
)
def test_control_sequences_do_nothing(text, shown):
    assert strip_escapes(text) == shown


@given(st.text())
def test_nothing_a_terminal_obeys_is_left(text):
    shown = strip_escapes(text)

    assert not [c for c in shown if (ord(c) < 32 and c not in "\n\t") or 0x7F <= ord(c) < 0xA0]
    assert strip_escapes(shown) == shown
