from __future__ import annotations

import pytest
from textual.events import Key, Paste

from cinch_tui.keybindings.user_keys import describe_key
from cinch_tui.subcommands.keys import INTRODUCTION, describe_events, wrap_line


@pytest.mark.parametrize("columns", [40, 80])
def test_words_are_not_broken_at_the_edge_of_the_terminal(monkeypatch: pytest.MonkeyPatch, columns: int):
    monkeypatch.setenv("COLUMNS", str(columns))
    said = INTRODUCTION.format(file="/home/ada/.config/cinch/config.toml")
    lines = [*said.splitlines(keepends=True), *(f"    {line}\n" for line in describe_key("escape", {}))]

    shown = [line for text in lines for line in wrap_line(text).splitlines()]

    words = [word for text in lines for word in text.split()]
    assert [word for line in shown for word in line.split()] == words
    assert all(len(line) <= columns or len(line.split()) == 1 or " = " in line for line in shown)


def test_pasted_text_is_not_described_as_a_key():
    described = list(describe_events([Paste("some text"), Key("f12", None)], {}))

    assert described == [
        ("paste of 9 characters", ["pasted text: it is inserted"]),
        ("f12", list(describe_key("f12", {}))),
    ]
