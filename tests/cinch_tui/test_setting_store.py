from __future__ import annotations

from pathlib import Path

import pytest

from cinch_tui.config.layers import Sources
from cinch_tui.config.names import keys
from cinch_tui.config.setting import AT_ONCE, NEXT_PROMPT, NEXT_START, Value
from cinch_tui.config.store import SettingState, SettingStore, settings_text
from harness.errors import ConfigError


def store(
    folder: Path, own: str = "", project: str = "", flags: dict[str, Value] | None = None, **environ: str
) -> SettingStore:
    """The settings of a folder whose project is not trusted."""
    (folder / "own.toml").write_text(own)
    (folder / "project.toml").write_text(project)
    return SettingStore(
        Sources(folder / "own.toml", folder / "project.toml", environ, folder / "trust.json", flags or {})
    )


def standing(store: SettingStore, name: str) -> SettingState:
    return next(each for each in store.read().states if each.key.name == name)


@pytest.mark.parametrize(
    ("name", "value", "source", "is_over"),
    [
        ("ui.motion", '"full"', "", False),
        ("ui.theme", '"paper"', "yours", False),
        ("limits.max_turns", "3", "project", True),
        ("retry.max_retries", '"5"', "variable", True),
        ("approval.mode", '"on"', "flag", True),
        ("permissions.allow", '["grep"]', "yours", False),
    ],
)
def test_each_setting_shows_what_is_in_force_and_from_where(
    tmp_path: Path, name: str, value: str, source: str, is_over: bool
):
    settings = store(
        tmp_path,
        '[ui]\ntheme = "paper"\n[limits]\nmax_turns = 9\n[permissions]\nallow = ["grep"]\n',
        "[limits]\nmax_turns = 3\n",
        {"approval.mode": "on"},
        CINCH_RETRY_MAX_RETRIES="5",
    )

    found = standing(settings, name)

    assert (found.value, found.source, found.override is not None) == (value, source, is_over)


def test_value_of_a_variable_is_hidden(tmp_path: Path):
    found = standing(
        store(tmp_path, '[model]\nbase_url = "http://me:${SECRET}@h"\n', SECRET="s3cret"), "model.base_url"
    )

    assert found.value == '"http://…@h"'
    assert found.editable_text == "http://me:${SECRET}@h"


def test_settings_of_an_untrusted_project_are_reported_and_ignored(tmp_path: Path):
    found = standing(store(tmp_path, project='[ui]\neditor = "evil"\n'), "ui.editor")

    assert (found.value, found.is_held_back) == ('""', True)


@pytest.mark.parametrize(
    ("name", "text", "line"),
    [
        ("limits.max_turns", " 7 ", "max_turns = 7"),
        ("ui.title", "no", "title = false"),
        ("ui.theme", "paper", 'theme = "paper"'),
        ("ui.status", "state, model", 'status = ["state", "model"]'),
        ("permissions.allow", '["bash:a, b", "grep"]', 'allow = ["bash:a, b", "grep"]'),
        ("limits.max_turns", "${TURNS}", 'max_turns = "${TURNS}"'),
        ("permissions.allow", "${TOOL}, grep", 'allow = ["${TOOL}", "grep"]'),
    ],
)
def test_typed_value_is_written_with_the_type_of_the_setting(tmp_path: Path, name: str, text: str, line: str):
    settings = store(tmp_path, TURNS="4", TOOL="bash")

    settings.set(keys()[name], text)

    assert line in (tmp_path / "own.toml").read_text().splitlines()


@pytest.mark.parametrize(
    ("name", "text", "reported"),
    [
        ("limits.max_turns", "few", "must be a whole number"),
        ("limits.max_turns", "-1", "must be 0 or more"),
        ("ui.motion", "fast", "must be one of full, reduced"),
        ("permissions.allow", '["a', "must be a list"),
        ("permissions.allow", "[1]", "must be a list of texts"),
        ("limits.max_turns", "${NOTHING}", "needs the environment variable NOTHING"),
    ],
)
def test_invalid_value_is_rejected_and_not_written(tmp_path: Path, name: str, text: str, reported: str):
    settings = store(tmp_path, "# mine\n")

    with pytest.raises(ValueError, match=reported):
        settings.set(keys()[name], text)

    assert (tmp_path / "own.toml").read_text() == "# mine\n"


def test_a_field_starts_with_the_current_value(tmp_path: Path):
    settings = store(tmp_path, '[permissions]\nallow = ["bash:a, b"]\n[ui]\nstatus = ["state", "model"]\n')

    assert standing(settings, "permissions.allow").editable_text == '["bash:a, b"]'
    assert standing(settings, "ui.status").editable_text == "state, model"
    assert standing(settings, "limits.max_turns").editable_text == "50"


def test_choices_follow_each_other_in_a_ring(tmp_path: Path):
    settings = store(tmp_path, '[model]\nthinking = "extra-high"\n')

    assert standing(settings, "model.thinking").next_choice(1) == "off"
    assert standing(settings, "model.thinking").next_choice(-1) == "high"
    assert standing(settings, "ui.title").next_choice(1) == "false"
    assert standing(settings, "ui.theme").next_choice(1) is None


def test_a_reset_leaves_the_rest_of_the_file(tmp_path: Path):
    settings = store(tmp_path, "# mine\n[ui]\ntitle = false  # quiet\n# theirs\n")

    settings.reset(keys()["ui.title"])

    assert (tmp_path / "own.toml").read_text() == "# mine\n[ui]\n# theirs\n"


def test_a_broken_file_is_reported_and_kept(tmp_path: Path):
    settings = store(tmp_path, "[ui\n")

    with pytest.raises(ConfigError, match="line 1: is not valid TOML"):
        settings.read()
    with pytest.raises(ConfigError, match="line 1: is not valid TOML"):
        settings.set(keys()["ui.theme"], "paper")

    assert (tmp_path / "own.toml").read_text() == "[ui\n"


def test_all_settings_are_reported_without_a_screen(tmp_path: Path):
    live = {"approval.mode": "off", "ui.title": True}
    lines = settings_text(store(tmp_path, "[limits]\nmax_turns = 3\n"), live).splitlines()

    assert "limits.max_turns = 3  (yours)" in lines
    assert "ui.title = true" in lines
    assert 'approval.mode = "smart"; in this session "off"' in lines


@pytest.mark.parametrize(
    ("name", "then"),
    [("ui.theme", AT_ONCE), ("approval.mode", AT_ONCE), ("limits.max_turns", NEXT_PROMPT), ("ui.plain", NEXT_START)],
)
def test_when_a_change_counts_is_known(name: str, then: str):
    assert keys()[name].applies == then


def test_a_former_key_in_the_users_file_is_shown_under_its_current_name(tmp_path: Path):
    found = standing(store(tmp_path, "[agents]\nmax_turns = 7\n"), "subagents.max_turns")

    assert (found.value, found.source, found.user_value) == ("7", "yours", 7)
