from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Iterator

from textual.binding import Binding
from textual.dom import DOMNode
from textual.widgets import OptionList

import cinch_tui
from cinch_tui.keybindings.table import KEYS, PLACES


def widgets(parent: type[DOMNode] = DOMNode) -> Iterator[type[DOMNode]]:
    for child in parent.__subclasses__():
        if child.__module__.startswith("cinch_tui."):
            yield child
        yield from widgets(child)


def own_bindings() -> list[tuple[str, Binding]]:
    for module in pkgutil.walk_packages(cinch_tui.__path__, "cinch_tui."):
        if module.name != "cinch_tui.__main__":
            importlib.import_module(module.name)
    return [
        (widget.__name__, binding)
        for widget in set(widgets())
        for each in widget.__dict__.get("BINDINGS", ())
        for binding in Binding.make_bindings([each])
    ]


def test_every_bound_key_is_in_the_table() -> None:
    known = {key.id for key in KEYS}

    assert {(name, binding.key) for name, binding in own_bindings() if binding.id not in known} == set()


def test_every_key_in_the_table_is_bound() -> None:
    bound = {binding.id for _, binding in own_bindings()}

    assert [key.id for key in KEYS if key.owner != "list" and key.id not in bound] == []


def test_list_keys_are_in_the_table() -> None:
    of_lists = {each for key in KEYS if key.owner == "list" for each in key.keys.split(",")}

    assert {binding.key for binding in Binding.make_bindings(OptionList.BINDINGS)} == of_lists


def test_every_key_owner_has_a_section_in_the_help() -> None:
    assert {key.owner for key in KEYS} - set(PLACES) == set()
