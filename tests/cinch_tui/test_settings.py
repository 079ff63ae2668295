from __future__ import annotations

import tomllib
from pathlib import Path

import pytest

from cinch_tui.config.names import SettingKey, build, keys
from cinch_tui.config.setting import Value
from cinch_tui.config.settings import Settings
from cinch_tui.config.store import example_text

ROOT = Path(__file__).parents[2]


def flat(table: dict[str, object], prefix: str = "") -> dict[str, object]:
    found: dict[str, object] = {}
    for name, value in table.items():
        found |= flat(value, f"{prefix}{name}.") if isinstance(value, dict) else {prefix + name: value}
    return found


def test_the_example_file_matches_the_settings() -> None:
    assert (ROOT / "config.example.toml").read_text(encoding="utf-8") == example_text()


def test_the_example_shows_every_key_with_its_default() -> None:
    shown = flat(tomllib.loads(example_text()))

    assert shown == {
        name: list(key.default) if isinstance(key.default, tuple) else key.default for name, key in keys().items()
    }


def test_the_example_sets_nothing_when_commented() -> None:
    assert flat(tomllib.loads(example_text(commented=True))) == {}


def test_every_key_is_read_by_something() -> None:
    code = "\n".join(
        path.read_text(encoding="utf-8") for path in (ROOT / "cinch_tui").rglob("*.py") if path.parent.name != "tables"
    )

    names = {name: (key.field, name.rpartition(".")[2]) for name, key in keys().items()}
    assert [name for name, parts in names.items() if not any(f".{part}" in code for part in parts if part)] == []


def test_no_values_build_the_defaults() -> None:
    assert build({}) == Settings()


def test_values_reach_their_place() -> None:
    built = build({"retry.max_retries": 7, "ui.theme": "paper"})

    assert built.retry.max_retries == 7
    assert built.ui.theme == "paper"
    assert built.limits == Settings().limits


@pytest.mark.parametrize(
    ("name", "text", "value"),
    [
        ("model.name", "anthropic/x", "anthropic/x"),
        ("limits.max_turns", "7", 7),
        ("limits.max_cost_usd", "2", 2.0),
        ("ui.show_thinking", "No", False),
        ("plan.enabled", "1", True),
        ("permissions.allow", "bash:make test, grep", ("bash:make test", "grep")),
    ],
)
def test_a_text_is_parsed_as_its_key_needs_it(name: str, text: str, value: Value) -> None:
    assert keys()[name].parse(text) == value


@pytest.mark.parametrize(
    ("name", "value", "reason"),
    [
        ("limits.max_turns", "7", "must be a whole number"),
        ("limits.max_turns", True, "must be a whole number"),
        ("limits.max_turns", -1, "must be 0 or more"),
        ("context.evict_at", 1.5, "must be 1 or less"),
        ("limits.max_cost_usd", float("nan"), "must be a number"),
        ("limits.max_cost_usd", float("inf"), "must be a number"),
        ("model.thinking", "hard", "must be one of off, minimal, low, medium, high, extra-high"),
        ("permissions.allow", "bash", "must be a list of texts"),
        ("permissions.allow", ["bash", 3], "must be a list of texts"),
        ("ui.show_thinking", "yes", "must be true or false"),
        ("model.name", 3, "must be text"),
    ],
)
def test_a_value_that_does_not_fit_is_refused(name: str, value: object, reason: str) -> None:
    key: SettingKey = keys()[name]

    with pytest.raises(ValueError, match=f"^{reason}$"):
        key.check(value)
