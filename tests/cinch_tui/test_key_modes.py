from __future__ import annotations

import pytest

from cinch_tui.terminal.key_protocols import enabling, is_in_konsole, restoring

XTERM = {"TERM": "xterm", "XTERM_VERSION": "XTerm(379)"}
ST = {"TERM": "st-256color"}
ALT = "\x1b[?1036;1039h"
KEYPAD = "\x1b="


@pytest.mark.parametrize("environ", [{}, XTERM, ST, {"TERM": "tmux-256color", "TMUX": "/tmp/x,1,0"}])
def test_every_terminal_is_asked_for_modified_keys_and_keeps_no_style_of_it(environ: dict[str, str]):
    assert enabling(environ).startswith("\x1b[>4;1m\x1b[m")
    assert restoring(environ).endswith("\x1b[>4m\x1b[m")


def test_xterm_sends_an_escape_for_alt_and_what_it_sent_before_is_kept():
    assert ALT in enabling(XTERM)
    assert enabling(XTERM).index("\x1b[?1036;1039s") < enabling(XTERM).index(ALT)
    assert "\x1b[?1036;1039r" in restoring(XTERM)


@pytest.mark.parametrize("inside", [{"TMUX": "x", "TERM": "xterm"}, {"STY": "1.x"}, {"TERM": "screen", "STY": "1.x"}])
def test_what_is_between_is_not_asked_in_place_of_xterm(inside: dict[str, str]):
    assert ALT not in enabling(XTERM | inside)
    assert "1036" not in restoring(XTERM | inside)


def test_others_that_call_themselves_xterm_are_not_asked_as_xterm_is():
    assert "1036" not in enabling({"TERM": "xterm-256color"}) + restoring({"TERM": "xterm-256color"})


@pytest.mark.parametrize("kind", ["st", "st-256color", "st-meta"])
def test_st_sends_delete_for_delete(kind: str):
    assert KEYPAD in enabling({"TERM": kind})
    assert "\x1b>" in restoring({"TERM": kind})


@pytest.mark.parametrize("kind", ["xterm-256color", "sterm", "screen"])
def test_the_keypad_of_others_stays_as_it_is(kind: str):
    assert KEYPAD not in enabling({"TERM": kind})


def test_konsole_is_known_where_nothing_is_between():
    assert is_in_konsole({"KONSOLE_VERSION": "221203"})
    assert not is_in_konsole({"KONSOLE_VERSION": "221203", "TMUX": "x"})
    assert not is_in_konsole({})
