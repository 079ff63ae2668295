from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from textual.events import Key, Paste

from cinch_tui.terminal.paste_parser import BEGINS, ENDS, PasteDetector, PasteParser

THREE = "first line\rsecond line\rthird line"


class Clock:
    now = 100.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


def heard(parser: PasteParser, *chunks: str) -> list[str]:
    """Each paste as it is, and each key by its name."""
    events = [event for chunk in chunks for event in parser.feed(chunk)]
    return [e.text if isinstance(e, Paste) else e.key for e in (*events, *parser.tick()) if isinstance(e, Key | Paste)]


def test_lines_that_come_at_once_are_one_paste(clock: Clock) -> None:
    parser = PasteDetector(clock)

    assert heard(parser, THREE) == []
    clock.now += 1
    assert heard(parser) == [THREE]


def test_what_follows_at_once_is_of_the_same_paste(clock: Clock) -> None:
    parser = PasteDetector(clock)

    heard(parser, THREE, " that goes on", "\r")
    clock.now += 1

    assert heard(parser) == [f"{THREE} that goes on\r"]


@pytest.mark.parametrize("key", ["\x1b[A", "\x03"])
def test_a_key_ends_it(clock: Clock, key: str) -> None:
    pasted, *keys = heard(PasteDetector(clock), THREE, key)

    assert pasted == THREE
    assert keys == heard(PasteParser(), key) != []


def test_a_letter_that_comes_later_is_typed(clock: Clock) -> None:
    parser = PasteDetector(clock)
    heard(parser, THREE)
    clock.now += 1

    assert heard(parser, "q") == [THREE, "q"]


@pytest.mark.parametrize(
    "typed",
    ["hello\r", "hello\rand more", "\r\r\r\r\r", "y\r\r\r", "a\rb\x7f\rc", "one\\\rtwo\nthree\r"],
)
def test_what_is_typed_fast_stays_keys(typed: str) -> None:
    assert heard(PasteDetector(), typed) == heard(PasteParser(), typed)


@given(st.lists(st.text("ab\r\n", min_size=1, max_size=8), max_size=6))
def test_a_paste_that_is_marked_is_left_to_its_marks(chunks: list[str]) -> None:
    marked = [BEGINS, *chunks, ENDS]

    assert heard(PasteDetector(), *marked) == heard(PasteParser(), *marked) == ["".join(chunks)]
