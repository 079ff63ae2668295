from __future__ import annotations

from collections.abc import Iterator

import pytest
from textual.binding import BindingsMap

from cinch_tui.keybindings.keymap import bindings, bindings_for_key, hint, label_of, set_user_keys, user_keys
from cinch_tui.keybindings.names import key_label
from cinch_tui.keybindings.table import KEYS, Key


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
def test_keys_have_everyday_names(key: str, label: str):
    assert key_label(key) == label


def test_key_with_two_ways_names_both():
    assert Key("x.y", "shift+enter,ctrl+j", "new line").label == "Shift+Enter or Ctrl+J"


@pytest.fixture
def own() -> Iterator[None]:
    set_user_keys({"prompt.submit": "ctrl+s,f12", "chat.sessions": ""})
    yield
    set_user_keys({})


@pytest.mark.usefixtures("own")
def test_hints_name_the_keys_of_the_user_and_leave_out_what_has_none():
    assert label_of("prompt.submit") == "Ctrl+S"
    assert label_of("chat.abort") == "Esc"
    assert label_of("chat.sessions") == ""
    assert hint("prompt.submit sends", "chat.sessions goes on", "type to find") == "Ctrl+S sends · type to find"
    assert hint("chat.page_up chat.page_down scroll") == "PgUp PgDn scroll"
    assert user_keys() == {"prompt.submit": "ctrl+s,f12", "chat.sessions": ""}


@pytest.mark.usefixtures("own")
def test_a_widget_that_runs_its_own_bindings_has_the_keys_of_the_user():
    prompt = BindingsMap(bindings("prompt"))

    assert [binding.action for binding in bindings_for_key(prompt, "ctrl+s")] == ["submit"]
    assert bindings_for_key(prompt, "enter") == ()
    assert [binding.action for binding in bindings_for_key(prompt, "tab")] == ["complete"]
