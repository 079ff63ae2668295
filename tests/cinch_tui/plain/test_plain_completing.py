from __future__ import annotations

from pathlib import Path

import pytest

from cinch_tui.plain.keyboard import completions


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
def test_a_word_is_completed_by_where_it_stands(root: Path, before: str, word: str, found: list[str]):
    assert completions(before, word, root) == found
