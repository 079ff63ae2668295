from __future__ import annotations

from pathlib import Path

import pytest

from cinch_tui.plain.keyboard import completions, is_complete, join_lines


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
