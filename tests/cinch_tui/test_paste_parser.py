from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from textual.events import Key, Paste

from cinch_tui.terminal.background import ReplyParser
from cinch_tui.terminal.paste_parser import BEGINS, ENDS, PasteDetector, PasteParser

TYPED = st.text("ab", max_size=4)
TEXTS = st.text("ab\n\t\x00[漢20", max_size=12)
TALKS = st.lists(st.tuples(TYPED, TEXTS), max_size=4)


def parsed(parser: ReplyParser, chunks: list[str]) -> list[tuple[str, str]]:
    events = [event for chunk in chunks for event in parser.feed(chunk)]
    return [
        ("pasted", e.text) if isinstance(e, Paste) else ("key", e.key) for e in events if isinstance(e, Key | Paste)
    ]


def cut(text: str, places: list[int]) -> list[str]:
    edges = [0, *sorted({place for place in places if 0 < place < len(text)}), len(text)]
    return [text[start:end] for start, end in pairwise(edges) if start < end]


@settings(max_examples=200, deadline=None)
@given(talk=TALKS, places=st.lists(st.integers(0, 80), max_size=8))
def test_any_split_of_the_input_parses_like_textual(talk: list, places: list) -> None:
    chunks = cut("".join(f"{typed}{BEGINS}{text}{ENDS}" for typed, text in talk), places)

    assert parsed(PasteParser(), chunks) == parsed(ReplyParser(), chunks)


@pytest.mark.parametrize("typed", ["\x1b[A", "x"])
def test_keys_in_a_paste_are_text_and_after_it_keys(typed: str) -> None:
    reported = parsed(PasteParser(), [f"{BEGINS}one\x1b[Btwo", f" three{ENDS}{typed}"])

    assert reported == [("pasted", "one[Btwo three"), ("key", "up" if typed != "x" else "x")]


THREE = "first line\rsecond line\rthird line"


class Clock:
    now = 100.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


def keys_and_pastes(parser: PasteParser, *chunks: str) -> list[str]:
    """Each paste as it is, and each key by its name."""
    events = [event for chunk in chunks for event in parser.feed(chunk)]
    return [e.text if isinstance(e, Paste) else e.key for e in (*events, *parser.tick()) if isinstance(e, Key | Paste)]


def test_lines_that_come_at_once_are_one_paste(clock: Clock) -> None:
    parser = PasteDetector(clock)

    assert keys_and_pastes(parser, THREE) == []
    clock.now += 1
    assert keys_and_pastes(parser) == [THREE]


def test_text_that_follows_at_once_is_part_of_the_paste(clock: Clock) -> None:
    parser = PasteDetector(clock)

    keys_and_pastes(parser, THREE, " that goes on", "\r")
    clock.now += 1

    assert keys_and_pastes(parser) == [f"{THREE} that goes on\r"]


@pytest.mark.parametrize("key", ["\x1b[A", "\x03"])
def test_a_key_ends_it(clock: Clock, key: str) -> None:
    pasted, *keys = keys_and_pastes(PasteDetector(clock), THREE, key)

    assert pasted == THREE
    assert keys == keys_and_pastes(PasteParser(), key) != []


def test_a_letter_that_comes_later_is_typed(clock: Clock) -> None:
    parser = PasteDetector(clock)
    keys_and_pastes(parser, THREE)
    clock.now += 1

    assert keys_and_pastes(parser, "q") == [THREE, "q"]


@pytest.mark.parametrize(
    "typed",
    ["hello\r", "hello\rand more", "\r\r\r\r\r", "y\r\r\r", "a\rb\x7f\rc", "one\\\rtwo\nthree\r"],
)
def test_fast_typing_stays_keys(typed: str) -> None:
    assert keys_and_pastes(PasteDetector(), typed) == keys_and_pastes(PasteParser(), typed)


@given(st.lists(st.text("ab\r\n", min_size=1, max_size=8), max_size=6))
def test_a_bracketed_paste_is_left_to_its_markers(chunks: list[str]) -> None:
    marked = [BEGINS, *chunks, ENDS]

    assert keys_and_pastes(PasteDetector(), *marked) == keys_and_pastes(PasteParser(), *marked) == ["".join(chunks)]
