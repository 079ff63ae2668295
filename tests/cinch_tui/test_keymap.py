from __future__ import annotations

import pytest
from textual._xterm_parser import XTermParser
from textual.events import Key as KeyEvent

from cinch_tui.keymap import KEYS, Key, bindings, canonical, key_label, read_chords_of_plain_terminals


def test_every_key_has_its_own_id_a_description_and_an_action():
    assert len({key.id for key in KEYS}) == len(KEYS)
    assert all(key.description and key.owner and key.action for key in KEYS)


def test_one_owner_never_binds_a_key_twice():
    for owner in {key.owner for key in KEYS}:
        keys = [each for key in KEYS if key.owner == owner for each in key.keys.split(",")]
        assert len(set(keys)) == len(keys), owner


def test_bindings_call_the_action_of_their_id():
    by_id = {binding.id: binding for binding in bindings("prompt")}

    assert by_id["prompt.follow_up"].action == "follow_up"
    assert by_id["prompt.follow_up"].key == "alt+enter"


@pytest.mark.parametrize(
    ("key", "label"),
    [("shift+enter", "Shift+Enter"), ("ctrl+c", "Ctrl+C"), ("pageup", "PgUp"), ("shift+left", "Shift+←")],
)
def test_keys_are_named_as_people_write_them(key: str, label: str):
    assert key_label(key) == label


def test_key_with_two_ways_names_both():
    assert Key("x.y", "shift+enter,ctrl+j", "new line").label == "Shift+Enter or Ctrl+J"


@pytest.mark.parametrize(
    ("sequence", "key"),
    [
        ("\r", "enter"),
        ("\x1b\r", "alt+enter"),
        ("\x1b[13;3u", "alt+enter"),
        ("\x1b[27;3;13~", "alt+enter"),
        ("\x1b[13;2u", "shift+enter"),
        ("\x1b[27;2;13~", "shift+enter"),
        ("\n", "ctrl+j"),
    ],
)
def test_chords_with_enter_are_told_apart(sequence: str, key: str):
    read_chords_of_plain_terminals()

    events = list(XTermParser().feed(sequence))

    assert [canonical(event.key) for event in events if isinstance(event, KeyEvent)] == [key]
