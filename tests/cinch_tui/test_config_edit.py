from __future__ import annotations

import tomllib
from pathlib import Path

import pytest

from cinch_tui.config_edit import set_in_file
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
    ],
)
def test_only_that_setting_changes(tmp_path: Path, before: str, after: str):
    path = tmp_path / "config.toml"
    path.write_text(before)

    set_in_file(path, "ui.theme", "x")

    assert path.read_text() == after


def test_file_is_made(tmp_path: Path):
    set_in_file(tmp_path / "new" / "config.toml", "ui.theme", 'a"b')

    assert tomllib.loads((tmp_path / "new" / "config.toml").read_text()) == {"ui": {"theme": 'a"b'}}


@pytest.mark.parametrize("before", ['ui = {theme = "old"}\n', "no toml\n"])
def test_what_cannot_be_changed_is_left_and_told(tmp_path: Path, before: str):
    path = tmp_path / "config.toml"
    path.write_text(before)

    with pytest.raises(ConfigError, match="set it to 'x' there"):
        set_in_file(path, "ui.theme", "x")

    assert path.read_text() == before
