from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from architecture.sources import modules

SHOWS_MARKUP = {"Static", "Label", "notify"}


@cache
def calls() -> list[tuple[Path, str, ast.Call]]:
    """Return the calls in the sources of the app, with the names of the called functions."""
    return [(path, name, call) for path, tree in modules("cinch_tui") for name, call in _calls_in(tree)]


def _calls_in(tree: ast.Module) -> Iterator[tuple[str, ast.Call]]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            named = node.func
            yield named.attr if isinstance(named, ast.Attribute) else getattr(named, "id", ""), node


def comes_from_elsewhere(call: ast.Call) -> bool:
    """Return True if the text is neither a literal nor a styled object of ours."""
    words = call.args[0] if call.args else None
    # A notice of an agent is an event; front ends escape it where they show it.
    if isinstance(call.func, ast.Attribute) and ast.unparse(call.func.value).endswith("agent"):
        return False
    is_ours = words is None or isinstance(words, ast.Constant | ast.Call)
    return not is_ours and not (isinstance(words, ast.Name) and words.id.isupper())


def test_external_text_is_never_parsed_as_markup() -> None:
    careless = [
        f"{path.name}:{call.lineno}"
        for path, name, call in calls()
        if name in SHOWS_MARKUP
        and comes_from_elsewhere(call)
        and not any(each.arg == "markup" and getattr(each.value, "value", True) is False for each in call.keywords)
    ]

    assert careless == []


def test_workers_get_functions_and_not_coroutines() -> None:
    """A coroutine of a worker that is cancelled before it starts is never awaited, which Python reports."""
    started = [(path.name, call) for path, name, call in calls() if name == "run_worker"]

    assert [
        f"{file}:{call.lineno}"
        for file, call in started
        if isinstance(call.args[0], ast.Call) and getattr(call.args[0].func, "id", "") != "partial"
    ] == []
    assert len(started) > 5


def test_no_widget_uses_the_expensive_loading_indicator() -> None:
    users = [path.name for path, name, _ in calls() if name == "LoadingIndicator"]

    assert users == []
