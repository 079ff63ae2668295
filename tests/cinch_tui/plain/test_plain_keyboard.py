from __future__ import annotations

import io
import os
import signal
from pathlib import Path

import pytest

from cinch_tui.plain.keyboard import Keyboard, completions, is_complete, join_lines
from cinch_tui.plain.line_writer import LineWriter


class SignallingTerminal(io.StringIO):
    """Output of a program that gets a signal as soon as it has printed a prompt."""

    def write(self, text: str) -> int:
        if text:
            os.kill(os.getpid(), signal.SIGUSR1)
        return super().write(text)


def test_a_line_is_not_awaited_after_a_signal_that_came_with_its_prompt():
    received: list[int] = []

    def check() -> None:
        if received:
            raise KeyboardInterrupt

    reading, writing = os.pipe()
    before = signal.signal(signal.SIGUSR1, lambda number, frame: received.append(number))
    try:
        with os.fdopen(reading) as stdin, os.fdopen(writing, "w"):
            keyboard = Keyboard(stdin, LineWriter(SignallingTerminal()), {}, check)
            with pytest.raises(KeyboardInterrupt):
                keyboard.line("You: ")
    finally:
        signal.signal(signal.SIGUSR1, before)

    assert not keyboard.is_reading


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        ([], False),
        ([""], True),
        (["fix it"], True),
        (["fix it \\"], False),
        (["fix it \\", "please"], True),
        (["```"], False),
        (["```python", "x = 1 \\"], False),
        (["look:", "```", "x", "```"], True),
    ],
)
def test_a_prompt_is_complete_when_nothing_is_left_open(lines: list[str], expected: bool):
    assert is_complete(lines) is expected


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        (["fix it \\", "please"], "fix it \nplease"),
        (["```", "a", "", "b", "```"], "a\n\nb"),
        (["```sh", "a \\", "b", "```"], "```sh\na \\\nb\n```"),
        (["one"], "one"),
    ],
)
def test_line_continuations_are_joined(lines: list[str], expected: str):
    assert join_lines(lines) == expected


@pytest.fixture
def root(tmp_path: Path) -> Path:
    for name in ("till/receipt.py", "till/label.py", "tests/one.py", "a b.txt", ".hidden"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).touch()
    return tmp_path


@pytest.mark.parametrize(
    ("before", "word", "found"),
    [
        ("", "/usa", ["/usage "]),
        ("", "#sess", ["#sessions "]),
        ("say ", "/usa", []),
        ("", "", []),
        ("why ", "@t", ["@tests/", "@till/"]),
        ("why ", "@till/r", ["@till/receipt.py "]),
        ("", "@a", []),
        ("why ", "@.h", ["@.hidden "]),
        ("", "!till/l", ["!till/label.py "]),
        ("!cat ", "till/", ["till/label.py ", "till/receipt.py "]),
        ("cat ", "till/", []),
        ("", "@nowhere/x", []),
    ],
)
def test_completion_depends_on_the_position_of_the_word(root: Path, before: str, word: str, found: list[str]):
    assert completions(before, word, root) == found
