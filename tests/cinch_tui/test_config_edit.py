from __future__ import annotations

import tomllib
from pathlib import Path

import pytest

from cinch_tui.config.edit import drop_from_file, set_in_file
from cinch_tui.config.setting import Value
from harness.errors import ConfigError


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("", '[ui]\ntheme = "x"\n'),
        ("# a\n[ui]\n# b\neditor = 'e'\n", "# a\n[ui]\ntheme = \"x\"\n# b\neditor = 'e'\n"),
        ('[ui]\ntheme   =  "old"  # why\nz = 1\n', '[ui]\ntheme   =  "x"  # why\nz = 1\n'),
        ('ui.theme = "old"\n[limits]\nmax_turns = 3\n', 'ui.theme = "x"\n[limits]\nmax_turns = 3\n'),
        ('[model]\ntheme = "other"\n', '[model]\ntheme = "other"\n\n[ui]\ntheme = "x"\n'),
        ("[limits]\nmax_turns = 3", '[limits]\nmax_turns = 3\n\n[ui]\ntheme = "x"\n'),
        ("[ui]", '[ui]\ntheme = "x"\n'),
        ('ui = {theme = "old"}\n', 'ui = {theme = "x"}\n'),
    ],
)
def test_only_that_setting_changes(tmp_path: Path, before: str, after: str):
    path = tmp_path / "config.toml"
    path.write_text(before)

    set_in_file(path, "ui.theme", "x")

    assert path.read_text() == after


def test_a_file_that_is_missing_is_made_with_its_folder(tmp_path: Path):
    set_in_file(tmp_path / "new" / "config.toml", "ui.theme", 'a"b')

    assert tomllib.loads((tmp_path / "new" / "config.toml").read_text()) == {"ui": {"theme": 'a"b'}}


@pytest.mark.parametrize(
    ("name", "value", "before", "after"),
    [
        ("limits.max_turns", 7, "[limits]\nmax_turns=3 # few\n", "[limits]\nmax_turns=7 # few\n"),
        ("ui.title", False, "[ui]\ntitle = true\n", "[ui]\ntitle = false\n"),
        ("limits.max_cost_usd", 2.5, "", "[limits]\nmax_cost_usd = 2.5\n"),
        ("permissions.allow", ("a", "b:#c"), "[permissions]\nallow = []\n", '[permissions]\nallow = ["a", "b:#c"]\n'),
        (
            "permissions.allow",
            ("x",),
            '[permissions]\nallow = [\n  "a",  # first\n  "b:]",\n]  # why\n# after\nmanaged_only = true\n',
            '[permissions]\nallow = ["x"]  # why\n# after\nmanaged_only = true\n',
        ),
        ("tools.bash.deny", ("git push:*",), "", '[tools.bash]\ndeny = ["git push:*"]\n'),
        ("tools.bash.deny", ("x",), "[tools]\n[tools.bash]\ndeny = []\n", '[tools]\n[tools.bash]\ndeny = ["x"]\n'),
        ("permissions.allow", ("x",), '[approval]\nallow = ["y"]\n', '[approval]\n\n[permissions]\nallow = ["x"]\n'),
        ("ui.editor", "vi", '[ui]\neditor = """\n# no\ntitle = 1\n"""\n', '[ui]\neditor = "vi"\n'),
        (
            "ui.editor",
            "vi",
            "[ui]\n# editor = ''\ntitle = true\n",
            "[ui]\n# editor = ''\neditor = \"vi\"\ntitle = true\n",
        ),
        ("ui.title", True, "[ui]\r\ntitle = false\r\n", "[ui]\r\ntitle = true\r\n"),
    ],
)
def test_every_kind_of_value_is_written_where_it_belongs(
    tmp_path: Path, name: str, value: Value, before: str, after: str
):
    path = tmp_path / "config.toml"
    path.write_bytes(before.encode())

    set_in_file(path, name, value)

    assert path.read_bytes().decode() == after


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("# a\n[ui]\ntheme = 'x'  # gone\n# b\n", "# a\n[ui]\n# b\n"),
        ("ui.theme = 'x'\n[limits]\n", "[limits]\n"),
        ("[limits]\n", "[limits]\n"),
    ],
)
def test_a_setting_is_taken_out_and_nothing_else(tmp_path: Path, before: str, after: str):
    path = tmp_path / "config.toml"
    path.write_text(before)

    drop_from_file(path, "ui.theme")

    assert path.read_text() == after


@pytest.mark.parametrize(
    ("name", "value", "before", "after"),
    [
        ("plan.enabled", True, "[plan]\nfirst = false  # why\n", "[plan]\nenabled = true  # why\n"),
        (
            "prompt_cache.strategy",
            "off",
            "[cache]\nstrategy = 'auto'\ntools = true\n",
            '[cache]\ntools = true\n\n[prompt_cache]\nstrategy = "off"\n',
        ),
    ],
)
def test_editing_a_setting_replaces_its_former_name(tmp_path: Path, name: str, value: Value, before: str, after: str):
    path = tmp_path / "config.toml"
    path.write_text(before)

    set_in_file(path, name, value)

    assert path.read_text() == after


def test_dropping_a_setting_removes_its_former_name(tmp_path: Path):
    path = tmp_path / "config.toml"
    path.write_text("[plan]\nfirst = true\nmax_turns = 3\n")

    drop_from_file(path, "plan.enabled")

    assert path.read_text() == "[plan]\nmax_turns = 3\n"


def test_a_file_that_is_linked_to_stays_where_it_is(tmp_path: Path):
    real, link = tmp_path / "dotfiles.toml", tmp_path / "config.toml"
    real.write_text("")
    link.symlink_to(real)

    set_in_file(link, "ui.theme", "x")

    assert link.is_symlink()
    assert real.read_text() == '[ui]\ntheme = "x"\n'


@pytest.mark.parametrize(
    ("before", "reported"),
    [('ui = "old"\n', "set it to 'x' there"), ("[ui]\nno toml\n", "config.toml, line 2: is not valid TOML")],
)
def test_an_unchangeable_file_is_left_and_reported(tmp_path: Path, before: str, reported: str):
    path = tmp_path / "config.toml"
    path.write_text(before)

    with pytest.raises(ConfigError, match=reported):
        set_in_file(path, "ui.theme", "x")

    assert path.read_text() == before


def test_a_file_that_is_read_only_is_left_and_reported(tmp_path: Path):
    real, link = tmp_path / "dotfiles.toml", tmp_path / "config.toml"
    real.write_text('[ui]\ntheme = "old"\n')
    real.chmod(0o444)
    link.symlink_to(real)

    with pytest.raises(ConfigError, match=r"is read-only: ui\.theme cannot be saved there"):
        set_in_file(link, "ui.theme", "x")

    assert real.read_text() == '[ui]\ntheme = "old"\n'
    assert real.stat().st_mode & 0o777 == 0o444


def test_a_link_that_leads_to_itself_is_reported(tmp_path: Path):
    file = tmp_path / "config.toml"
    file.symlink_to(file)

    with pytest.raises(ConfigError, match=r"ui\.theme cannot be saved there: .*symbolic links"):
        set_in_file(file, "ui.theme", "paper")

    assert file.is_symlink()
