from __future__ import annotations

from itertools import combinations

import pytest
from textual.keys import _character_to_key

from cinch_tui.config.names import open_tables
from cinch_tui.keybindings.names import SIGNS, key_label, read_key
from cinch_tui.keybindings.table import KEYS, key_scopes
from cinch_tui.keybindings.user_keys import KeySetting, UserKeys, resolve_user_keys


def wished(**wishes: str) -> UserKeys:
    return resolve_user_keys(
        {
            name.replace("__", "."): KeySetting(text, f"file, line {at}")
            for at, (name, text) in enumerate(wishes.items(), 1)
        }
    )


@pytest.mark.parametrize(
    ("written", "key"),
    [
        ("Ctrl+X", "ctrl+x"),
        ("ctrl-x", "ctrl+x"),
        ("C-x", "ctrl+x"),
        ("Alt-Enter", "alt+enter"),
        ("Option+Return", "alt+enter"),
        ("Shift+Ctrl+Left", "ctrl+shift+left"),
        ("F2", "f2"),
        ("PgUp", "pageup"),
        ("Page Down", "pagedown"),
        ("Del", "delete"),
        ("Esc", "escape"),
        ("↑", "up"),
        ("y", "y"),
        ("Y", "Y"),
        ("Shift+y", "Y"),
        ("?", "question_mark"),
        ("-", "minus"),
        ("Ctrl+-", "ctrl+minus"),
        ("Ctrl--", "ctrl+minus"),
        ("Ctrl++", "ctrl+plus"),
        ("Ctrl+/", "ctrl+slash"),
        ("question_mark", "question_mark"),
        ("Cmd+Z", "super+z"),
    ],
)
def test_keys_are_parsed_in_everyday_notation(written: str, key: str):
    assert read_key(written) == key


def test_every_key_of_the_table_is_read_from_its_label():
    for key in KEYS:
        for each in key.keys.split(","):
            assert read_key(key_label(each)) == each


def test_signs_have_the_names_that_textual_gives_them():
    assert {_character_to_key(sign): sign for sign in SIGNS.values()} == SIGNS


@pytest.mark.parametrize("written", ["", "Ctrl+", "Hyperr+x", "F209", "pgupp", "Ctrl+I", "Ctrl+M", "Ctrl+["])
def test_invalid_and_ambiguous_keys_are_refused(written: str):
    with pytest.raises(ValueError, match=r"key|same code"):
        read_key(written)


def test_an_action_gets_the_keys_that_are_wished_for():
    own = wished(chat__search="F20, Ctrl+F", approval__deny="z", prompt__open_editor="none", chat__sessions="")

    assert own.keys == {
        "chat.search": "f20,ctrl+f",
        "approval.deny": "z",
        "prompt.open_editor": "",
        "chat.sessions": "",
    }
    assert own.problems == []


def test_a_key_that_is_anothers_in_the_same_place_is_left_out_and_both_are_named():
    own = wished(chat__search="Ctrl+G")

    assert own.keys == {}
    (reported,) = own.problems
    assert reported.startswith("file, line 1: ")
    assert "prompt.open_editor" in reported
    assert "chat.search (find in the conversation) cannot be Ctrl+G" in reported
    assert "keeps Ctrl+F" in reported


def test_a_key_is_free_once_the_other_gave_it_up():
    own = wished(chat__search="Ctrl+G", prompt__open_editor="F20")

    assert own.keys == {"chat.search": "ctrl+g", "prompt.open_editor": "f20"}


def test_the_later_of_two_bindings_of_one_key_is_ignored():
    own = wished(chat__help="F20", chat__search="F20")

    assert own.keys == {"chat.help": "f20"}
    assert "chat.help" in own.problems[0]


def test_an_action_that_falls_back_on_its_default_key_keeps_it():
    own = wished(chat__help="F2", chat__toggle_fold="F1")
    stuck = wished(chat__toggle_fold="F1", chat__help="Ctrl+G")

    assert own.keys == {"chat.help": "f2", "chat.toggle_fold": "f1"}
    assert stuck.keys == {}
    assert len(stuck.problems) == 2


def test_the_same_key_in_two_places_is_no_conflict():
    assert wished(approval__deny="z").problems == []
    assert wished(changes__base="s").problems == []


def test_actions_that_share_a_key_by_design_may_share_another():
    own = wished(prompt__close_popup="F20", chat__abort="F20")

    assert own.problems == []


def test_a_letter_is_no_key_where_it_is_typed():
    own = wished(chat__search="x", picker__up="k", approval__page_up="b")

    assert own.keys == {}
    assert len(own.problems) == 3


@pytest.mark.parametrize("text", ["", "none", "q", "Enter"])
def test_every_dialog_keeps_a_key_that_closes_it(text: str):
    own = wished(approval__back=text)

    assert own.keys == {}
    assert "approval.back" in own.problems[0]


def test_the_prompt_keeps_a_key_that_sends():
    assert wished(prompt__submit="none").keys == {}
    assert wished(prompt__submit="Ctrl+S").keys == {"prompt.submit": "ctrl+s"}


def test_an_id_that_nothing_has_is_reported_with_the_nearest():
    own = wished(chat__serch="F20")

    assert own.keys == {}
    assert "did you mean 'chat.search'?" in own.problems[0]


def test_an_action_of_the_screen_library_cannot_be_moved():
    assert wished(list__choose="F20").keys == {}


def test_every_key_that_could_get_stuck_has_one_that_types_nothing():
    assert [
        key.id
        for key in KEYS
        if key.required and wished(**{key.id.replace(".", "__"): key.label.replace(" or ", ", ")}).problems
    ] == []


def test_each_place_knows_its_keys():
    for chain in key_scopes():
        assert len({key.id for key in chain}) == len(chain)
        assert all(
            one.owner != two.owner or not set(one.keys.split(",")) & set(two.keys.split(","))
            for one, two in combinations(chain, 2)
        )


def test_the_example_in_the_settings_is_a_good_one():
    _, example = open_tables()["keys"]
    name, text = (part.strip().strip('"') for part in example.split("="))

    assert resolve_user_keys({name: KeySetting(text, "example")}).problems == []


def test_a_run_can_always_be_stopped_by_key():
    own = wished(chat__abort="none", chat__interrupt="none")

    assert own.keys == {"chat.abort": ""}
    assert "chat.interrupt needs a key" in own.problems[0]
