from __future__ import annotations

import pytest

from cinch_tui.plain.keyboard import is_complete, join_lines


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        ([], False),
        ([""], True),
        (["mend it"], True),
        (["mend it \\"], False),
        (["mend it \\", "please"], True),
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
        (["mend it \\", "please"], "mend it \nplease"),
        (["```", "a", "", "b", "```"], "a\n\nb"),
        (["```sh", "a \\", "b", "```"], "```sh\na \\\nb\n```"),
        (["one"], "one"),
    ],
)
def test_what_was_only_there_for_the_typing_goes(lines: list[str], expected: str):
    assert join_lines(lines) == expected
