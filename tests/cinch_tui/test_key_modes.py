from __future__ import annotations

import pytest

from cinch_tui.terminal.key_modes import asked, given_back, is_in_konsole

XTERM = {"TERM": "xterm", "XTERM_VERSION": "XTerm(379)"}
ST = {"TERM": "st-256color"}
ALT = "\x1b[?1036;1039h"
KEYPAD = "\x1b="


@pytest.mark.parametrize("environ", [{}, XTERM, ST, {"TERM": "tmux-256color", "TMUX": "/tmp/x,1,0"}])
def test_every_terminal_is_asked_for_modified_keys_and_keeps_no_style_of_it(environ: dict[str, str]):
    assert asked(environ).startswith("\x1b[>4;1m\x1b[m")
    assert given_back(environ).endswith("\x1b[>4m\x1b[m")


def test_xterm_sends_an_escape_for_alt_and_what_it_sent_before_is_kept():
    assert ALT in asked(XTERM)
    assert asked(XTERM).index("\x1b[?1036;1039s") < asked(XTERM).index(ALT)
    assert "\x1b[?1036;1039r" in given_back(XTERM)


@pytest.mark.parametrize("inside", [{"TMUX": "x", "TERM": "xterm"}, {"STY": "1.x"}, {"TERM": "screen", "STY": "1.x"}])
def test_what_is_between_is_not_asked_in_place_of_xterm(inside: dict[str, str]):
    assert ALT not in asked(XTERM | inside)
    assert "1036" not in given_back(XTERM | inside)


def test_others_that_call_themselves_xterm_are_not_asked_as_xterm_is():
    assert "1036" not in asked({"TERM": "xterm-256color"}) + given_back({"TERM": "xterm-256color"})


@pytest.mark.parametrize("kind", ["st", "st-256color", "st-meta"])
def test_st_sends_delete_for_delete(kind: str):
    assert KEYPAD in asked({"TERM": kind})
    assert "\x1b>" in given_back({"TERM": kind})


@pytest.mark.parametrize("kind", ["xterm-256color", "sterm", "screen"])
def test_the_keypad_of_others_stays_as_it_is(kind: str):
    assert KEYPAD not in asked({"TERM": kind})


def test_konsole_is_known_where_nothing_is_between():
    assert is_in_konsole({"KONSOLE_VERSION": "221203"})
    assert not is_in_konsole({"KONSOLE_VERSION": "221203", "TMUX": "x"})
    assert not is_in_konsole({})
