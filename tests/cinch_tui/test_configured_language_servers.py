from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from cinch_tui.cli.start import config_sources
from cinch_tui.config.config import Config
from cinch_tui.config.layers import load_config
from cinch_tui.config.lsp_tables import ConfiguredLanguageServers, read_language_servers
from cinch_tui.config.options import Options
from cinch_tui.config.paths import find_paths
from cinch_tui.config.settings import Settings
from cinch_tui.doctor.language_servers import language_server_finding
from cinch_tui.language_servers import lsp_options
from cinch_tui.plugin_folders import plugin_store
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


@pytest.mark.parametrize(
    ("installed", "expected"),
    [
        (("pyright-langserver", "gopls"), ("ok", "language servers: pyright (python); for other languages: gopls")),
        (("pylsp",), ("ok", "language servers: pylsp (python); only in a trusted folder: pylsp")),
        (("gopls",), ("note", "language servers: for other languages: gopls; none for python")),
        ((), ("note", "language servers: none for python")),
    ],
)
def test_doctor_names_the_servers_for_the_languages_of_the_project(
    tmp_path: Path, installed: tuple[str, ...], expected: tuple[str, str]
) -> None:
    project, programs = tmp_path / "project", tmp_path / "programs"
    project.mkdir()
    programs.mkdir()
    for name in installed:
        (programs / name).write_text("#!/bin/sh\n")
        (programs / name).chmod(0o755)
    # Neither hidden folders nor packages, data or a few files of another language count.
    for name in (*(f"{number}.py" for number in range(12)), "a.ts", "b.json", "node_modules/x.ts", ".cache/y.ts"):
        (project / name).parent.mkdir(exist_ok=True)
        (project / name).touch()
    paths = find_paths(os.environ)
    options = Options(project, paths, {"PATH": str(programs)}, config_sources(paths, project))

    finding = language_server_finding(options, Settings())

    assert (finding.level, finding.message) == expected
    assert ("basedpyright-langserver or pyright-langserver" in finding.remedy) is (finding.level == "note")


def with_plugin(entries: object, project: Path, text: str = "") -> tuple[Path, Options]:
    """Install the plugin `lang` with these servers, and return its folder and options for a start."""
    loaded, paths = config(text, project), find_paths(os.environ)
    store = plugin_store(paths)
    copy = store.folder / "lang-1"
    copy.mkdir(parents=True, exist_ok=True)
    (copy / ".lsp.json").write_text(json.dumps(entries))
    (store.folder / "plugins.json").write_text('{"lang": {"copy": "lang-1", "source": "./lang"}}')
    options = Options(
        project,
        paths,
        {"TOKEN": "s3"},
        config_sources(paths, project),
        language_servers=loaded.language_servers,
    )
    return copy, options


FOO = {
    "command": "${CLAUDE_PLUGIN_ROOT}/foo-lsp",
    "args": ["--mode", "${TOKEN}"],
    "extensionToLanguage": {".foo": "foo"},
    "env": {"FOO_HOME": "${CLAUDE_PLUGIN_ROOT}/home"},
    "initializationOptions": {"a": 1},
    "settings": {"foo": {"b": 2}},
    "startupTimeout": 90000,
    "restartOnCrash": True,
}


def test_servers_of_plugins_precede_the_known_ones(project: Path) -> None:
    ruff = {"command": ["ruff", "server"], "extensionToLanguage": {".py": "python"}}
    copy, options = with_plugin({"lspServers": {"foo": FOO, "linter": ruff}}, project)

    found, problems = lsp_options(options, Settings(), lambda: True)

    assert problems == []
    foo, linter, *others = found.servers
    assert foo == LanguageServer(
        {"*.foo": "foo"},
        (f"{copy}/foo-lsp", "--mode", "s3"),
        "plugin_lang_foo",
        languages=("foo",),
        runs_code=True,
        options={"a": 1},
        settings={"foo": {"b": 2}},
        env={"CLAUDE_PLUGIN_ROOT": str(copy), "FOO_HOME": f"{copy}/home"},
        start_s=90,
    )
    assert foo.setting("foo.b") == 2
    # Its program is known: it replaces no type checker, and starts without trust.
    assert (linter.name, linter.languages, linter.runs_code) == ("plugin_lang_linter", ("python lint",), False)
    assert [each.name for each in others] == [each.name for each in known_servers()]


def test_tables_change_servers_of_plugins(project: Path) -> None:
    text = "[lsp.servers.plugin_lang_foo]\nlanguages = ['bar']\n[lsp.servers.plugin_lang_bar]\nenabled = false\n"
    options = with_plugin({"foo": FOO, "bar": FOO}, project, text)[1]

    names = {each.name: each for each in lsp_options(options, Settings(), lambda: True)[0].servers}

    assert names["plugin_lang_foo"].languages == ("bar",)
    assert names["plugin_lang_foo"].command[1:] == ("--mode", "s3")
    assert "plugin_lang_bar" not in names


@pytest.mark.parametrize(
    ("entry", "problem"),
    [
        ({**FOO, "args": ["${FOO_MISSING}"]}, "bad needs the environment variable FOO_MISSING, which is not set"),
        ({**FOO, "transport": "socket"}, "bad has the transport socket; only stdio is supported"),
        ({"command": "foo"}, "bad is invalid: Object missing required field `extensionToLanguage`"),
        ({**FOO, "command": ""}, "bad has no command"),
        ("foo", "bad is invalid: Expected `object`, got `str`"),
    ],
)
def test_invalid_server_of_a_plugin_is_reported_and_affects_no_other(
    project: Path, entry: object, problem: str
) -> None:
    options = with_plugin({"bad": entry, "foo": FOO}, project)[1]

    found, problems = lsp_options(options, Settings(), lambda: True)

    assert [each.name for each in found.servers][:1] == ["plugin_lang_foo"]
    assert problems == [problems[0]]
    assert problems[0].endswith(f".lsp.json: the language server {problem}")
