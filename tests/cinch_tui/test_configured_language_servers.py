from __future__ import annotations

import os
from pathlib import Path

import pytest

from cinch_tui.cli.start import config_sources
from cinch_tui.config.config import Config
from cinch_tui.config.layers import load_config
from cinch_tui.config.lsp_tables import ConfiguredLanguageServers, read_language_servers
from cinch_tui.config.paths import find_paths
from cinch_tui.trust.inventory import inventory
from harness.errors import ConfigError
from tools.lsp.options import LanguageServer, LspOptions, known_servers

OWN = """
[lsp.servers.mine]
command = ["mine", "--stdio"]
files = { "*.foo" = "foo", "Foofile" = "foo" }
languages = ["foo"]
root_markers = ["foo.toml"]
options = '{"a": {"b": 1}}'
"""


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / ".cinch").mkdir()
    return tmp_path


def config(text: str, project: Path, *, is_own: bool = True) -> Config:
    paths = find_paths(os.environ)
    file = paths.config_file if is_own else project / ".cinch" / "config.toml"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text)
    return load_config(config_sources(paths, project))


def read(text: str, project: Path) -> ConfiguredLanguageServers:
    return read_language_servers(config(text, project).language_servers)


def test_table_adds_a_server(project: Path) -> None:
    configured = read(OWN, project)

    assert configured.problems == ()
    assert configured.servers == (
        LanguageServer(
            {"*.foo": "foo", "Foofile": "foo"},
            ("mine", "--stdio"),
            "mine",
            languages=("foo",),
            root_markers=("foo.toml",),
            runs_code=True,
            options={"a": {"b": 1}},
        ),
    )
    assert configured.servers[0].setting("a.b") == 1
    assert configured.servers[0].setting("a.c.d") is None


def test_table_changes_and_disables_known_servers(project: Path) -> None:
    configured = read(
        "[lsp.servers.pyright]\noptions = '{\"python\": {}}'\n[lsp.servers.ruff]\nenabled = false\n", project
    )

    options = LspOptions(own=configured.servers, disabled=configured.disabled)
    known = next(each for each in known_servers() if each.name == "pyright")
    assert [each.name for each in options.servers].count("pyright") == 1
    assert next(each for each in options.servers if each.name == "pyright").command == known.command
    assert "ruff" not in [each.name for each in options.servers]


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("[lsp.servers.mine]\nlanguages = ['a']\n", "line 2: the language server mine needs command and files"),
        ("[lsp.servers.ruff]\noptions = '{'\n", "the language server ruff has options that are not JSON"),
        ("[lsp.servers.ruff]\noptions = '[]'\n", "the language server ruff has options that are not a JSON object"),
    ],
)
def test_invalid_table_is_reported_and_affects_no_other(project: Path, text: str, problem: str) -> None:
    configured = read(text + OWN.replace("mine]", "other]"), project)

    assert problem in configured.problems[0]
    assert [each.name for each in configured.servers] == ["other"]


def test_unknown_key_is_an_error(project: Path) -> None:
    with pytest.raises(ConfigError, match=r"unknown key 'lsp\.servers\.a\.comand'; did you mean"):
        config('[lsp.servers.a]\ncomand = ["a"]\n', project)


def test_untrusted_project_starts_no_server_of_its_own(project: Path) -> None:
    loaded = config(OWN + "[lsp]\nenabled = true\n", project, is_own=False)

    assert read_language_servers(loaded.language_servers) == ConfiguredLanguageServers()
    assert any("lsp.servers.mine" in notice for notice in loaded.notices)
    assert inventory(project).found[0].summary == "sets lsp.enabled; starts the language server mine"
