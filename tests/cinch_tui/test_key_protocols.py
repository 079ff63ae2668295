from __future__ import annotations

import pytest
from textual._xterm_parser import XTermParser
from textual.events import Key as KeyEvent

from cinch_tui.keybindings.keymap import recognize_alt_keys
from cinch_tui.terminal.key_protocols import enabling, is_in_konsole, restoring, translate_legacy_keys


def keys_in(sent: str, *, in_konsole: bool = False) -> list[str]:
    recognize_alt_keys()
    parser = XTermParser()
    events = (*parser.feed(translate_legacy_keys(sent, in_konsole=in_konsole)), *parser.tick())
    return [event.key for event in events if isinstance(event, KeyEvent)]


@pytest.mark.parametrize(
    ("sent", "key"),
    [
        # an Esc before the key's own sequence
        ("\x1b\x1b[A", "alt+up"),
        ("\x1b\x1bOB", "alt+down"),
        ("\x1b\x1b[5~", "alt+pageup"),
        ("\x1b\x1b[D", "alt+left"),
        ("\x1b\r", "alt+enter"),
        ("\x1bs", "alt+s"),
        ("\x1b\x7f", "alt+backspace"),
        # modifyOtherKeys
        ("\x1b[27;3;13~", "alt+enter"),
        ("\x1b[27;2;13~", "shift+enter"),
        ("\x1b[27;5;13~", "ctrl+enter"),
        ("\x1b[27;3;115~", "alt+s"),
        ("\x1b[27;3;127~", "alt+backspace"),
        ("\x1b[27;5;102~", "ctrl+f"),
        ("\x1b[27;6;90~", "ctrl+shift+z"),
        ("\x1b[27;2;9~", "shift+tab"),
        ("\x1b[27;1;27~", "escape"),
        ("\x1b[27;2;65~", "A"),
        # kitty
        ("\x1b[13;3u", "alt+enter"),
        ("\x1b[13;2u", "shift+enter"),
        ("\x1b[115;3u", "alt+s"),
        ("\x1b[102;5u", "ctrl+f"),
        ("\x1b[9;2u", "shift+tab"),
        ("\x1b[27u", "escape"),
        ("\x1b[1;3A", "alt+up"),
        ("\x1b[1;2D", "shift+left"),
        # function keys, of the VT100 and later
        ("\x1bOP", "f1"),
        ("\x1b[11~", "f1"),
        ("\x1b[[A", "f1"),
        ("\x1b[P", "f1"),
        ("\x1b[24~", "f12"),
        ("\x1b[25~", "f13"),
        ("\x1b[34~", "f20"),
        # rxvt
        ("\x1b[7~", "home"),
        ("\x1b[7^", "ctrl+home"),
        ("\x1b[8^", "ctrl+end"),
        ("\x1b[7$", "shift+home"),
        ("\x1b[8$", "shift+end"),
        ("\x1b[7@", "ctrl+shift+home"),
        ("\x1b[8@", "ctrl+shift+end"),
        ("\x1b[3^", "ctrl+delete"),
        ("\x1b[5^", "ctrl+pageup"),
        ("\x1b\x1b[3~", "alt+delete"),
        ("\x1b\x1b[7~", "alt+home"),
        ("\x1b[d", "shift+left"),
        ("\x1b[b", "shift+down"),
        ("\x1bOa", "ctrl+up"),
        ("\x1bOb", "ctrl+down"),
        ("\x1bOc", "ctrl+right"),
        ("\x1b\x1bOd", "alt+ctrl+left"),
        ("\x1b\x1b[d", "alt+shift+left"),
        ("\x1b\x1b[15~", "alt+f5"),
        ("\x1b\x1b[11~", "alt+f1"),
        # mlterm with modifyOtherKeys
        ("\x1b[65;2u", "A"),
        ("\x1b[32;2u", "space"),
        ("\x1b[97;3u", "alt+a"),
        ("\x1b[8;3u", "alt+backspace"),
        ("\x1b[8;5u", "ctrl+backspace"),
        ("\x1b[9;5u", "ctrl+tab"),
        # the keypad of kitty, with NumLock
        ("\x1b[57414;129u", "enter"),
        ("\x1b[57406;129;55u", "7"),
    ],
)
def test_every_spelling_of_a_key_is_that_key(sent: str, key: str):
    assert keys_in(sent) == [key]


@pytest.mark.parametrize(("sent", "key"), [("\x1bOM", "shift+enter"), ("\x1b\x1bOM", "alt+shift+enter")])
def test_konsole_has_its_own_sequence_for_shift_and_enter(sent: str, key: str):
    assert keys_in(sent, in_konsole=True) == [key]


def test_the_enter_of_a_keypad_is_enter_elsewhere():
    assert keys_in("\x1bOM") == ["enter"]


def test_several_keys_in_one_read_are_all_parsed():
    assert keys_in("a\x1b\x1b[A\x1b[27;3;115~b") == ["a", "alt+up", "alt+s", "b"]


@pytest.mark.parametrize("text", ["plain", "", "中文 é", "27;3;97~", "\x1b[200~pasted\x1b[201~"])
def test_other_input_is_unchanged(text: str):
    assert translate_legacy_keys(text) == text


XTERM = {"TERM": "xterm", "XTERM_VERSION": "XTerm(379)"}
ST = {"TERM": "st-256color"}
ALT = "\x1b[?1036;1039h"
KEYPAD = "\x1b="


@pytest.mark.parametrize("environ", [{}, XTERM, ST, {"TERM": "tmux-256color", "TMUX": "/tmp/x,1,0"}])
def test_every_terminal_is_set_to_send_modified_keys_and_keeps_no_style(environ: dict[str, str]):
    assert enabling(environ).startswith("\x1b[>4;1m\x1b[m")
    assert restoring(environ).endswith("\x1b[>4m\x1b[m")


def test_xterm_sends_an_escape_for_alt_and_what_it_sent_before_is_kept():
    assert ALT in enabling(XTERM)
    assert enabling(XTERM).index("\x1b[?1036;1039s") < enabling(XTERM).index(ALT)
    assert "\x1b[?1036;1039r" in restoring(XTERM)


@pytest.mark.parametrize("inside", [{"TMUX": "x", "TERM": "xterm"}, {"STY": "1.x"}, {"TERM": "screen", "STY": "1.x"}])
def test_multiplexers_are_not_set_up_like_xterm(inside: dict[str, str]):
    assert ALT not in enabling(XTERM | inside)
    assert "1036" not in restoring(XTERM | inside)


def test_other_terminals_named_xterm_are_not_set_up_like_xterm():
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
