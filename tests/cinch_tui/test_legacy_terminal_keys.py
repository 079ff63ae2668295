from __future__ import annotations

from string import ascii_lowercase

import pytest

from cinch_tui.commands.builtin import builtin_commands
from cinch_tui.keybindings.names import is_printable
from cinch_tui.keybindings.table import FIXED, KEYS, Key

SENT = {
    *("enter", "tab", "escape", "backspace", "up", "down", "left", "right", "f1", "f2", "f3", "f4"),
    *(f"ctrl+{letter}" for letter in ascii_lowercase),
    *(f"alt+{letter}" for letter in ascii_lowercase),
    *(
        "ctrl+underscore",
        "ctrl+right_square_bracket",
        "alt+up",
        "alt+down",
        "alt+left",
        "alt+right",
        "alt+enter",
        "alt+backspace",
    ),
}
"""What a VT100 sends, an Esc in front of a key included."""

OTHER_WAYS = {
    "line.erase_line": ("line.kill_line_back", "line.kill_line"),
    "line.select_left": ("line.select_line", "line.select_all"),
    "line.select_right": ("line.select_line", "line.select_all"),
    "line.select_up": ("line.select_line", "line.select_all"),
    "line.select_down": ("line.select_line", "line.select_all"),
    "line.select_word_left": ("line.select_line", "/vim"),
    "line.select_word_right": ("line.select_line", "/vim"),
    "line.select_start": ("line.kill_line_back", "line.select_line"),
    "line.select_end": ("line.kill_line", "line.select_line"),
    "chat.toggle_plan": ("/plan",),
    "chat.context": ("/context",),
    "chat.next_approval": ("/mode",),
    "chat.previous_block": ("chat.change_sides", "transcript.above"),
    "chat.next_block": ("chat.change_sides", "transcript.below"),
    "chat.scroll_top": ("chat.page_up", "chat.page_transcript"),
    "chat.scroll_end": ("chat.page_down",),
    **{f"{place}.first": (f"{place}.page_up",) for place in ("panel", "picker", "sessions", "settings", "context")},
    **{f"{place}.last": (f"{place}.page_down",) for place in ("panel", "picker", "sessions", "settings", "context")},
    "approval.line_up": ("approval.page_up",),
    "approval.line_down": ("approval.page_down",),
    "trust.line_up": ("trust.page_up",),
    "trust.line_down": ("trust.page_down",),
    "approval.top": ("approval.page_up",),
    "approval.end": ("approval.page_down",),
}
"""What does the same, in other steps, where no key of it is sent: keys by their ids, and commands."""


def is_sent(key: Key) -> bool:
    return any(each in SENT or is_printable(each) for each in key.keys.split(","))


UNSENT = [key for key in KEYS if key.owner not in FIXED and not is_sent(key)]


def is_at_hand(way: str) -> bool:
    if way[0] in "/#":
        return builtin_commands().find(way) is not None
    return any(key.id == way and is_sent(key) for key in KEYS)


@pytest.mark.parametrize("key", UNSENT, ids=lambda key: key.id)
def test_keys_a_plain_terminal_cannot_send_have_alternatives(key: Key):
    ways = OTHER_WAYS.get(key.id, ())

    assert ways
    assert all(map(is_at_hand, ways))
