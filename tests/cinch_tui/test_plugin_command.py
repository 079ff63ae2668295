"""`cinch plugin`, as users and scripts call it, and what a start uses of the plugins."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from fakes.hostile_repository import GIT

from cinch_tui.assembly.folder import Folder, read_folder
from cinch_tui.cli.start import config_sources
from cinch_tui.config.layers import load_config
from cinch_tui.config.options import Options
from cinch_tui.config.paths import find_paths
from cinch_tui.config.settings import Settings
from cinch_tui.mcp_servers import read_servers
from cinch_tui.print_mode.output import Output
from cinch_tui.subcommands.plugin import HELP, run
from harness.errors import ConfigError

FOO = {"command": "foo-lsp", "extensionToLanguage": {".foo": "foo"}}
HOOKS = {
    "PreToolUse": [{"matcher": "Bash", "hooks": [{"type": "command", "command": "${CLAUDE_PLUGIN_ROOT}/check.sh"}]}]
}
SERVER = {"command": "${CLAUDE_PLUGIN_ROOT}/broom", "args": ["${TOKEN}"]}


def write(folder: Path, files: dict[str, object]) -> Path:
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content if isinstance(content, str) else json.dumps(content))
    return folder


def skill(name: str) -> str:
    return f"---\nname: {name}\ndescription: About {name}\n---\nDo it.\n"


class User:
    """A user with a folder of plugins."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.project = folder / "project"
        self.project.mkdir()
        self.paths = find_paths(os.environ)
        self.status = 0

    def run(self, *argv: str) -> str:
        stream = io.StringIO()
        self.status = run(argv, self.folder, Output(stream))
        return stream.getvalue()

    def problem(self, *argv: str) -> str:
        with pytest.raises(ConfigError) as caught:
            self.run(*argv)
        return str(caught.value)

    def answers(self, monkeypatch: pytest.MonkeyPatch, text: str) -> None:
        terminal = io.StringIO(text)
        monkeypatch.setattr(terminal, "isatty", lambda: True)
        monkeypatch.setattr(sys, "stdin", terminal)

    def plugin(self, name: str = "tidy") -> Path:
        return write(
            self.folder / name,
            {
                ".claude-plugin/plugin.json": {"name": name, "version": "1.2.0", "description": "Keeps things tidy"},
                "skills/sweep/SKILL.md": skill("sweep"),
                "commands/git/tidy.md": "Tidy up.",
                "agents/cleaner.md": "---\nname: cleaner\ndescription: Cleans\n---\nClean.",
                "tools/dust.toml": 'description = "Dusts"\ncommand = "dust --all"',
                "hooks/hooks.json": {"hooks": HOOKS},
                ".mcp.json": {"mcpServers": {"broom": SERVER}},
            },
        )

    def copy(self, name: str) -> Path:
        (row,) = (row for row in map(json.loads, self.run("list", "--json").splitlines()) if row["name"] == name)
        return Path(row["folder"])

    @property
    def options(self) -> Options:
        sources = config_sources(self.paths, self.project)
        config = load_config(sources)
        return Options(self.project, self.paths, {"TOKEN": "s3"}, sources, servers=config.servers)

    async def start(self) -> Folder:
        return await read_folder(self.options, Settings(), self.project)


@pytest.fixture
def user(tmp_path: Path) -> User:
    return User(tmp_path)


def repository(folder: Path) -> str:
    subprocess.run(["bash", "-ec", f"git init -q; git add -A; {GIT} commit -qm one"], cwd=folder, check=True)
    return folder.as_uri()


@pytest.mark.parametrize("argv", [[], ["--help"], ["add", "--help"]])
def test_help_is_printed(user: User, argv: list[str]):
    assert user.run(*argv) == HELP


def test_plugin_is_shown_and_added_after_a_yes(user: User, monkeypatch: pytest.MonkeyPatch):
    user.plugin()
    user.answers(monkeypatch, "y\n")

    shown = user.run("add", "./tidy")

    assert shown.splitlines() == [
        "tidy 1.2.0: Keeps things tidy",
        f"  from {user.folder / 'tidy'}",
        "  skills: sweep",
        "  commands: git:tidy",
        "  subagents: cleaner",
        "  script tool: dust runs dust --all",
        "  hook: PreToolUse (Bash) runs ${CLAUDE_PLUGIN_ROOT}/check.sh",
        "  MCP server: starts broom: ${CLAUDE_PLUGIN_ROOT}/broom ${TOKEN} (reads $CLAUDE_PLUGIN_ROOT, $TOKEN)",
        "Hooks, MCP servers and language servers run with your rights, without approval of each call.",
        "added tidy, from the next start",
    ]
    assert "1 skill, 1 command, 1 subagent, 1 script tool, 1 hook, 1 MCP server" in user.run("list")


def test_nothing_is_added_after_a_no_or_without_a_terminal(user: User, monkeypatch: pytest.MonkeyPatch):
    user.plugin()

    assert "--yes" in user.problem("add", "./tidy")
    for answer in ("\n", ""):
        user.answers(monkeypatch, answer)
        assert "nothing was added" in user.run("add", "./tidy")
    assert (user.status, user.run("list", "--json")) == (1, "")


async def test_start_uses_enabled_plugins_only(user: User):
    user.plugin()
    user.run("add", "./tidy", "--yes")
    with_plugin, servers = await user.start(), read_servers(user.options).servers
    user.run("disable", "tidy")
    without, disabled_servers = await user.start(), read_servers(user.options).servers

    (root,) = (each for each in with_plugin.roots if each.level == "plugin")
    assert (root.plugin, (root.path / "skills/sweep/SKILL.md").is_file()) == ("tidy", True)
    assert "sweep" in with_plugin.prompt
    (server,) = servers
    assert (server.name, server.command) == ("plugin_tidy_broom", str(root.path / "broom"))
    assert (server.args, server.env) == (("s3",), {"CLAUDE_PLUGIN_ROOT": str(root.path)})
    assert not any(each.level == "plugin" for each in without.roots)
    assert disabled_servers == ()


async def test_broken_plugin_is_reported_and_the_others_work(user: User):
    for name in ("tidy", "clean"):
        user.plugin(name)
        user.run("add", f"./{name}", "--yes")
    user.copy("tidy").rename(user.folder / "gone")

    folder = await user.start()

    assert [each.plugin for each in folder.roots if each.level == "plugin"] == ["clean"]
    assert "plugin tidy is not used" in " ".join(folder.problems)
    assert "updated tidy" in user.run("update", "tidy", "--yes")


async def test_damaged_list_is_reported_and_not_overwritten(user: User):
    user.plugin()
    path = user.paths.data / "plugins" / "plugins.json"
    write(path.parent, {path.name: "{"})

    assert "so no plugin is used" in " ".join((await user.start()).problems)
    assert "cannot be read" in user.problem("add", "./tidy", "--yes")
    assert path.read_text() == "{"


def test_repository_is_pinned_to_a_commit_and_updated_to_the_next(user: User, monkeypatch: pytest.MonkeyPatch):
    folder = user.plugin()
    address = repository(folder)
    user.run("add", address, "--yes")
    first = user.copy("tidy")
    write(first, {"hooks/__pycache__/check.pyc": "cache"})
    assert "up to date" in user.run("update")
    write(folder, {"hooks/hooks.json": {"hooks": {"Stop": HOOKS["PreToolUse"]}}, "check.sh": "rm -rf /"})
    repository(folder)
    user.answers(monkeypatch, "y\n")

    shown = user.run("update", "tidy")

    assert "  - hook: PreToolUse (Bash) runs ${CLAUDE_PLUGIN_ROOT}/check.sh" in shown
    assert "  + hook: Stop (Bash) runs ${CLAUDE_PLUGIN_ROOT}/check.sh" in shown
    assert "  new: check.sh\n  changed: hooks/hooks.json" in shown
    commit = subprocess.run(["git", "rev-parse", "HEAD"], cwd=folder, capture_output=True, text=True, check=True)
    assert json.loads(user.run("list", "--json"))["commit"] == commit.stdout.strip()
    # A session that is running may still use it.
    assert first.is_dir()


def test_declined_or_failed_update_keeps_the_plugin(user: User, monkeypatch: pytest.MonkeyPatch):
    folder = user.plugin()
    user.run("add", "./tidy", "--yes")
    before = user.copy("tidy")
    write(folder, {"commands/more.md": "More."})
    user.answers(monkeypatch, "n\n")

    assert "tidy stays as it is" in user.run("update")
    write(folder, {".claude-plugin/plugin.json": {"name": "tidy", "commands": "../../etc"}})
    assert "leads out of the plugin" in user.run("update", "--yes")
    assert (user.status, user.copy("tidy"), before.is_dir()) == (1, before, True)


def test_catalog_lists_its_plugins_until_one_is_chosen(user: User):
    user.plugin("market/plugins/tidy")
    write(
        user.folder / "market",
        {
            ".claude-plugin/marketplace.json": {
                "plugins": [
                    {"name": "tidy", "source": "./plugins/tidy", "description": "Tidy"},
                    {"name": "docs", "source": "./", "strict": False, "skills": ["./skills/pdf"]},
                    {"name": "far", "source": {"source": "npm", "package": "far"}},
                    {"name": "out", "source": "../tidy"},
                ]
            },
            "skills/pdf/SKILL.md": skill("pdf"),
            "skills/xlsx/SKILL.md": skill("xlsx"),
        },
    )

    assert "catalog of 4 plugins" in user.problem("add", "./market")
    user.run("add", "./market", "tidy", "docs", "--yes")

    assert "skills: pdf\n" in user.run("show", "docs")
    assert (user.copy("tidy") / "agents/cleaner.md").is_file()
    assert "'npm' is not supported" in user.problem("add", "./market", "far", "--yes")
    assert "leads out" in user.problem("add", "./market", "out", "--yes")
    assert "did you mean 'tidy'" in user.problem("add", "./market", "tidi", "--yes")


def test_names_are_unique_and_another_can_be_given(user: User):
    user.plugin()
    user.run("add", "./tidy", "--yes")

    assert "installed already" in user.problem("add", "./tidy", "--yes")
    user.run("add", "./tidy", "--name", "tidy2", "--yes")
    user.run("remove", "tidy")

    # Scripts may rely on the name of their folder.
    assert user.copy("tidy2").name == "tidy"

    assert [json.loads(line)["name"] for line in user.run("list", "--json").splitlines()] == ["tidy2"]
    assert "no plugin is named 'tidy'" in user.problem("show", "tidy")


def test_folder_with_a_skill_file_is_a_plugin_with_one_skill(user: User):
    write(user.folder / "sweep", {"SKILL.md": skill("sweep"), "scripts/run.sh": "true"})

    user.run("add", "./sweep", "--yes")

    assert "skills: sweep\n" in user.run("show", "sweep")
    assert (user.copy("sweep") / "skills/sweep/scripts/run.sh").is_file()


def test_what_a_manifest_names_elsewhere_is_used(user: User):
    write(
        user.folder / "odd",
        {
            ".claude-plugin/plugin.json": {
                "name": "odd",
                "commands": ["./extra/one.md", "./more"],
                "skills": "./packs",
                "hooks": HOOKS,
                "mcpServers": {"inline": {"url": "https://mcp.example"}},
                "lspServers": ["./servers/foo.json", {"bar": {**FOO, "command": "bar"}}],
                "monitors": "./monitors.json",
            },
            "commands/two.md": "Two.",
            "extra/one.md": "One.",
            "more/deep/three.md": "Three.",
            "packs/sweep/SKILL.md": skill("sweep"),
            "hooks/hooks.json": {"hooks": {"Stop": HOOKS["PreToolUse"]}},
            ".mcp.json": {"flat": {"command": "flat"}},
            ".lsp.json": {"flat": {**FOO, "command": "flat"}},
            "servers/foo.json": {"foo": {**FOO, "args": ["--stdio"]}},
        },
    )

    assert "note: monitors are not used" in user.run("add", "./odd", "--yes")
    shown = user.run("show", "odd")

    assert "commands: deep:three, one, two" in shown
    assert "skills: sweep" in shown
    assert all(f"hook: {event}" in shown for event in ("Stop", "PreToolUse"))
    assert all(f"{name}" in shown for name in ("starts flat", "connects inline"))
    assert all(
        f"language server: {name}" in shown
        for name in ("flat runs flat for *.foo", "foo runs foo-lsp --stdio for *.foo", "bar runs bar for *.foo")
    )


async def test_mistakes_in_a_plugin_are_shown_when_it_is_added_only(user: User):
    hooks = {"Stop": [{"hooks": [{"type": "agent", "prompt": "Is it tidy?"}]}], "Setup": []}
    files = {"skills/sweep/SKILL.md": skill("other"), "hooks/hooks.json": json.dumps({"hooks": hooks})}
    write(user.plugin(), files)

    shown = user.run("add", "./tidy", "--yes")

    assert "note: skills/sweep/SKILL.md: the name 'other' is not that of its folder" in shown
    assert "note: hooks/hooks.json: Stop has a hook of type 'agent', which cinch does not have" in shown
    assert "note: hooks/hooks.json: Setup is an event that cinch does not have" in shown
    assert (await user.start()).problems == ()


def test_server_of_a_plugin_is_turned_off_in_the_configuration(user: User):
    user.plugin()
    user.run("add", "./tidy", "--yes")
    user.paths.config_file.write_text("[mcp.servers.plugin_tidy_broom]\nenabled = false\n")

    assert [(each.name, each.enabled) for each in read_servers(user.options).servers] == [("plugin_tidy_broom", False)]


def test_nothing_is_imported_without_plugins_and_script_tools(user: User):
    code = (
        "import asyncio, sys; from cinch_tui.cli.arguments import parse_arguments\n"
        "from cinch_tui.assembly.building import assemble; from cinch_tui.cli.start import prepare\n"
        "from harness.ports.interaction import NonInteractive\n"
        "options, settings = prepare(parse_arguments(['-m', 'demo/tour']))\n"
        "asyncio.run(assemble(options, settings, NonInteractive()))\n"
        "print([name for name in sys.modules if name.startswith(('extensions.plugins', 'extensions.script'))])"
    )
    environ = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])}

    done = subprocess.run([sys.executable, "-c", code], cwd=user.project, env=environ, capture_output=True, text=True)

    assert (done.stdout.strip(), done.stderr) == ("[]", "")
