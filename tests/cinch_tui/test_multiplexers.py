from __future__ import annotations

import re
from base64 import b64decode

import pytest

from cinch_tui.terminal.multiplexers import (
    clear_before_exit,
    clipboard_sequence,
    delays_escape,
    multiplexer_of,
    passthrough,
)


@pytest.mark.parametrize(
    ("environ", "inside"),
    [
        ({"TERM": "xterm-256color"}, ""),
        ({"TERM": "screen-256color", "TMUX": "/tmp/tmux-0/default,1,0"}, "tmux"),
        ({"TERM": "tmux-256color"}, "tmux"),
        ({"TERM": "screen", "STY": "1.pts-0.host"}, "screen"),
        ({"TERM": "screen.xterm-256color"}, "screen"),
        ({}, ""),
    ],
)
def test_the_multiplexer_is_reported(environ: dict[str, str], inside: str) -> None:
    assert multiplexer_of(environ) == inside


def test_tmux_hands_on_what_is_wrapped_for_it() -> None:
    sequence = clipboard_sequence("héllo")

    sent = passthrough(sequence, "tmux")

    assert sent.startswith("\x1bPtmux;")
    assert sent.endswith("\x1b\\")
    assert sent[7:-2].replace("\x1b\x1b", "\x1b") == sequence


def test_for_screen_a_long_text_is_cut_into_what_it_keeps() -> None:
    text = "long " * 1000
    sequence = clipboard_sequence(text)

    strings = re.findall("\x1bP(.*?)\x1b\\\\", passthrough(sequence, "screen"), re.DOTALL)

    assert "".join(strings) == sequence
    assert max(len(string) for string in strings) + 4 <= 768
    assert b64decode("".join(strings)[7:-1]).decode() == text


def test_without_a_multiplexer_nothing_is_reported_twice() -> None:
    assert passthrough(clipboard_sequence("x"), "") == ""


def test_only_screen_has_its_screen_emptied() -> None:
    assert clear_before_exit({"TERM": "screen", "STY": "1.pts-0.host"}) == "\x1b[H\x1b[J"
    assert (
        clear_before_exit({"TERM": "screen-256color", "TMUX": "/tmp/tmux-0/default,1,0"})
        == clear_before_exit({"TERM": "xterm"})
        == ""
    )


@pytest.mark.parametrize(
    ("environ", "holds"),
    [
        ({"TERM": "screen", "STY": "1.pts-0.host"}, True),
        ({"TERM": "screen-256color", "STY": "1.pts-0.host"}, True),
        ({"TERM": "screen"}, True),
        ({"TERM": "screen.xterm-256color"}, True),
        ({"TERM": "screen-256color"}, False),
        ({"TERM": "screen-256color", "TMUX": "/tmp/tmux-0/default,1,0", "STY": "1.pts-0.host"}, False),
        ({"TERM": "xterm"}, False),
    ],
)
def test_it_is_known_where_esc_is_held_back_for_the_mouse(environ: dict[str, str], holds: bool) -> None:
    assert delays_escape(environ) is holds
