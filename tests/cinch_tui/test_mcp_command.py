"""`cinch mcp`, as users and scripts call it."""

from __future__ import annotations

import io
import json
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest
from fakes.mcp_servers import RAW_SERVER

from cinch_tui.print_mode.output import Output
from cinch_tui.subcommands.mcp import HELP, run
from cinch_tui.subcommands.mcp_import import program_files
from harness.errors import ConfigError


class McpCommand:
    """`cinch mcp`, with a home and a project folder."""

    def __init__(self, folder: Path) -> None:
        self.home = folder / "home"
        self.project = folder / "project"
        (self.project / ".git").mkdir(parents=True)
        self.status = 0

    def run(self, *argv: str) -> str:
        stream = io.StringIO()
        self.status = run(argv, self.project, Output(stream))
        return stream.getvalue()

    def problem(self, *argv: str) -> str:
        with pytest.raises(ConfigError) as caught:
            self.run(*argv)
        return str(caught.value)

    def rows(self) -> dict[str, dict[str, Any]]:
        return {row["name"]: row for row in map(json.loads, self.run("list", "--json").splitlines())}

    @property
    def user(self) -> dict[str, Any]:
        return tomllib.loads((self.home / "config.toml").read_text())["mcp"]["servers"]

    def of_project(self, name: str = "config.toml") -> dict[str, Any]:
        return tomllib.loads((self.project / ".cinch" / name).read_text())["mcp"]["servers"]


@pytest.fixture
def mcp(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> McpCommand:
    made = McpCommand(tmp_path)
    monkeypatch.setenv("CINCH_HOME", str(made.home))
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("XDG_CONFIG_HOME", raising=False)
    return made


@pytest.mark.parametrize("argv", [[], ["--help"], ["add", "--help"]])
def test_help_is_printed(mcp: McpCommand, argv: list[str]) -> None:
    assert mcp.run(*argv) == HELP


def test_the_arguments_of_a_program_belong_to_it(mcp: McpCommand) -> None:
    mcp.run("add", "--env", "A=b=c", "-e", "TOKEN", "fs", "npx", "-y", "server", "--env", "X=y")

    assert mcp.user == {
        "fs": {
            "command": "npx",
            "args": ["-y", "server", "--env", "X=y"],
            "env": {"A": "b=c", "TOKEN": "${TOKEN}"},
        }
    }


@pytest.mark.parametrize(
    "argv", [["fs", "--", "npx", "-y"], ["fs", "npx", "--", "-y"], ["fs", "-t", "stdio", "npx", "-y"]]
)
def test_two_dashes_may_separate_the_program(mcp: McpCommand, argv: list[str]) -> None:
    mcp.run("add", *argv)

    assert mcp.user == {"fs": {"command": "npx", "args": ["-y"]}}


def test_options_may_follow_a_url(mcp: McpCommand) -> None:
    mcp.run(
        "add", "docs", "https://x/mcp", "-t", "sse", "--header", "X-Key: ${KEY}", "--timeout", "5", "--client-id", "c"
    )

    assert mcp.user == {
        "docs": {
            "url": "https://x/mcp",
            "transport": "sse",
            "headers": {"X-Key": "${KEY}"},
            "timeout_s": 5.0,
            "auth": {"client_id": "c"},
        }
    }


def test_comments_and_other_settings_stay(mcp: McpCommand) -> None:
    mcp.home.mkdir()
    text = '# mine\n[mcp]  # servers\nstartup_wait_s = 1\n\n[ui]\ntheme = "x"\n'
    (mcp.home / "config.toml").write_text(text)

    mcp.run("add", "a", "one")
    mcp.run("disable", "a")
    assert mcp.user["a"] == {"command": "one", "enabled": False}
    mcp.run("remove", "a")

    assert (mcp.home / "config.toml").read_text().rstrip() == text.rstrip()


def test_a_server_is_replaced_only_on_request(mcp: McpCommand) -> None:
    mcp.run("add", "a", "one", "old")

    assert "has a server named a; --force replaces it" in mcp.problem("add", "a", "two")
    mcp.run("add", "--force", "a", "two")

    assert mcp.user == {"a": {"command": "two"}}


def test_what_the_user_adds_to_a_project_has_effect(mcp: McpCommand) -> None:
    mcp.run("add", "-s", "project", "a", "one")
    mcp.run("add", "-s", "local", "b", "two")

    assert mcp.of_project() == {"a": {"command": "one"}}
    assert (mcp.project / ".cinch" / ".gitignore").read_text() == "config.local.toml\n"
    assert {name: row["state"] for name, row in mcp.rows().items()} == {"a": "enabled", "b": "enabled"}


def test_an_addition_does_not_trust_what_a_file_had_before(mcp: McpCommand) -> None:
    (mcp.project / ".cinch").mkdir()
    (mcp.project / ".cinch" / "config.toml").write_text('[mcp.servers.evil]\ncommand = "evil"\n')

    output = mcp.run("add", "-s", "project", "a", "one")

    assert "is not trusted, so it has no effect" in output
    assert all("not trusted" in row["state"] for row in mcp.rows().values())


def test_a_secret_in_the_file_is_warned_about(mcp: McpCommand, capsys: pytest.CaptureFixture[str]) -> None:
    mcp.run("add", "a", "https://x", "-H", "Authorization: Bearer s3cret")

    warning = capsys.readouterr().err
    assert "the value of Authorization is in the file as text" in warning
    assert "s3cret" not in warning


def test_a_program_that_does_not_exist_is_warned_about(mcp: McpCommand, capsys: pytest.CaptureFixture[str]) -> None:
    mcp.run("add", "a", "example.com/mcp")
    mcp.run("add", "b", sys.executable)

    (warning,) = capsys.readouterr().err.splitlines()
    assert warning.endswith("there is no program example.com/mcp on PATH; a URL begins with https://")


@pytest.mark.parametrize(
    ("argv", "problem"),
    [
        (["ad"], "unknown command 'ad'; did you mean 'add'?"),
        (["add"], "the following arguments are required: NAME"),
        (["add", "a"], "a command or a URL is missing"),
        (["add", "a b", "x"], "letters, digits, hyphens and underscores, unlike 'a b'"),
        (["add", "a", "https://x", "-e", "A=b"], "--env is for programs"),
        (["add", "-H", "A: b", "a", "x"], "--header is for remote servers"),
        (["add", "-t", "http", "a", "x"], "transport http needs a URL"),
        (["add", "-t", "stdio", "a", "https://x"], "transport stdio needs a command"),
        (["add", "-H", "A", "a", "https://x"], '--header needs "NAME: VALUE"'),
        (["add", "-e", "1=b", "a", "x"], "--env needs NAME=VALUE"),
        (["add", "-s", "here", "a", "x"], "invalid choice: 'here'"),
        (["add-json", "a", "{"], "Expecting property name"),
        (["add-json", "a", "{}"], "neither a command nor a url"),
        (["remove", "githubb"], "there is no MCP server named 'githubb'; did you mean 'github'?"),
        (["enable", "x"], "there is no MCP server named 'x'; cinch mcp list shows all"),
        (["import", "vscde"], "did you mean 'vscode'?"),
        (["import", "vscode"], "there are no servers of vscode: no "),
    ],
)
def test_errors_say_what_to_do(mcp: McpCommand, argv: list[str], problem: str) -> None:
    mcp.run("add", "github", "npx")

    assert problem in mcp.problem(*argv)


def test_json_of_other_programs_is_added(mcp: McpCommand, capsys: pytest.CaptureFixture[str]) -> None:
    mcp.run("add-json", "a", '{"type": "streamable-http", "url": "https://x", "alwaysAllow": ["t"]}')

    assert mcp.user == {"a": {"url": "https://x"}}
    assert 'permissions.allow = ["mcp__a__t"]' in capsys.readouterr().err


def test_a_server_of_a_json_file_is_turned_off_in_the_local_file(mcp: McpCommand) -> None:
    (mcp.project / ".mcp.json").write_text('{"mcpServers": {"my server": {"command": "x"}}}')

    assert "edit that file, or turn the server off" in mcp.problem("remove", "my server")
    mcp.run("disable", "my server")

    assert mcp.of_project("config.local.toml") == {"my server": {"enabled": False}}


def test_the_file_to_remove_from_must_be_clear(mcp: McpCommand) -> None:
    mcp.run("add", "a", "one")
    mcp.run("add", "-s", "local", "a", "two")

    assert "choose one: --scope user or local" in mcp.problem("remove", "a")
    mcp.run("remove", "a", "--scope", "local")

    row = mcp.rows()["a"]
    assert (row["target"], row["wins_over"]) == ("one", [])


def test_the_list_names_files_and_states(mcp: McpCommand, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NONE", raising=False)
    mcp.run("add", "a", "one")
    mcp.run("add", "-e", "NONE", "c", "three")
    mcp.run("add", "-s", "local", "a", "npx", "two")
    (mcp.project / ".mcp.json").write_text('{"mcpServers": {"b": {"url": "https://b", "headers": {"K": "s3cret"}}}}')

    text = mcp.run("list")

    user, local = mcp.home / "config.toml", mcp.project / ".cinch" / "config.local.toml"
    assert text == (
        f"a  npx two\n   {local}\n   wins over {user}\n"
        f"c  three\n   {user}\n   invalid: needs the environment variable NONE, which is not set\n"
        f"b  https://b\n   {mcp.project / '.mcp.json'}\n"
        "   not trusted, without effect; to trust the folder: cinch config trust\n"
    )


def test_an_import_shows_and_adds_servers(mcp: McpCommand, capsys: pytest.CaptureFixture[str]) -> None:
    (mcp.project / ".vscode").mkdir()
    (mcp.project / ".vscode" / "mcp.json").write_text(
        """{"inputs": [{"id": "my-key", "description": "API key", "password": true}, {"id": "eu", "default": "x"}],
        "servers": { // all
          "My Docs": {"command": "npx", "args": ["docs"], "env": {"KEY": "${input:my-key}"}},
          "off": {"url": "https://${input:eu}", "disabled": true},
        }}"""
    )

    output = mcp.run("import", "vscode", "--yes")

    assert "  My-Docs  npx docs\n  off  https://${input:eu}  (disabled)\nadded 2 servers" in output
    assert mcp.user == {
        "My-Docs": {"command": "npx", "args": ["docs"], "env": {"KEY": "${MY_KEY}"}},
        "off": {"url": "https://${EU:-x}", "enabled": False},
    }
    assert capsys.readouterr().err == "cinch mcp: set the environment variable MY_KEY: API key\n"
    assert "nothing to import" in mcp.run("import", "vscode", "--yes")


def test_an_import_asks_before_it_adds(mcp: McpCommand, monkeypatch: pytest.MonkeyPatch) -> None:
    (mcp.project / ".mcp.json").write_text('{"mcpServers": {"a": {"command": "x", "args": ["${input:id}"]}}}')
    assert "--yes adds them without" in mcp.problem("import")
    monkeypatch.setattr("sys.stdin.isatty", lambda: True)
    answers = iter(["n", "y", "value"])
    monkeypatch.setattr("builtins.input", lambda _: next(answers))

    assert "nothing was added" in mcp.run("import")
    assert mcp.status == 1
    mcp.run("import")

    assert mcp.user == {"a": {"command": "x", "args": ["value"]}}


def test_servers_of_claude_code_include_those_of_the_folder(mcp: McpCommand) -> None:
    other = {"mcpServers": {"no": {"command": "x"}}}
    projects = {str(mcp.project): {"mcpServers": {"mine": {"command": "x"}}}, "/other": other}
    path = mcp.home.parent / ".claude.json"
    path.write_text(json.dumps({"mcpServers": {"all": {"command": "x"}}, "projects": projects}))

    mcp.run("import", "claude-code", "--yes")

    assert sorted(mcp.user) == ["all", "mine"]


@pytest.mark.parametrize(
    ("platform", "environ", "place"),
    [
        ("linux", {"HOME": "/h"}, "/h/.config/Claude/claude_desktop_config.json"),
        ("linux", {"HOME": "/h", "XDG_CONFIG_HOME": "/c"}, "/c/Claude/claude_desktop_config.json"),
        ("darwin", {"HOME": "/h"}, "/h/Library/Application Support/Claude/claude_desktop_config.json"),
        ("win32", {"HOME": "/h", "APPDATA": "/a"}, "/a/Claude/claude_desktop_config.json"),
    ],
)
def test_claude_desktop_is_found_on_each_system(platform: str, environ: dict[str, str], place: str) -> None:
    assert list(program_files("claude-desktop", Path("/w"), environ, platform)) == [Path(place)]


def test_the_command_line_knows_the_command(mcp: McpCommand) -> None:
    def cinch(*argv: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "cinch_tui", *argv]
        return subprocess.run(
            command, cwd=mcp.project, capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL
        )

    assert cinch("mcp", "list").stdout.startswith("no MCP servers; to add one")
    assert "did you mean 'list'?" in cinch("mcp", "lst").stderr
    assert cinch("mcp", "remove", "x").returncode == 2


def add_scripted(mcp: McpCommand, name: str, **script: object) -> None:
    mcp.run("add", name, sys.executable, str(RAW_SERVER), json.dumps(script))


TOOLS = [{"name": "echo", "description": "Repeats\nthe text.", "inputSchema": {"type": "object", "properties": {}}}]


def test_a_test_shows_what_a_server_offers(mcp: McpCommand) -> None:
    add_scripted(mcp, "good", tools=TOOLS)
    mcp.run("disable", "good")

    lines = mcp.run("test", "good").splitlines()

    assert mcp.status == 0
    assert lines[0].startswith("good: connected in ")
    assert lines[0].endswith(" s, 1 tool")
    tokens = int(lines[3].split()[1])
    assert lines[2:] == [
        f"tools: 1, about {tokens} tokens",
        f"  mcp__good__echo     {tokens}  Repeats the text.",
        "resources: none",
        "prompts: none",
    ]
    assert 5 < tokens < 50
    record = json.loads(mcp.run("test", "good", "--json"))
    assert (record["state"], record["tools"]) == ("connected", [{"name": "mcp__good__echo", "tokens": tokens}])


def test_a_test_of_a_disabled_server_names_its_problem(mcp: McpCommand) -> None:
    mcp.run("add", "--env", "K=${CINCH_TEST_UNSET}", "a", "one")
    mcp.run("disable", "a")

    assert mcp.problem("test", "a").endswith(
        "MCP server a needs the environment variable CINCH_TEST_UNSET, which is not set"
    )


def test_a_test_explains_a_failure(mcp: McpCommand) -> None:
    add_scripted(mcp, "broken", exits=4)

    text = mcp.run("test", "broken")

    assert mcp.status == 1
    assert text.startswith("broken: failed: ")
    assert "exited with status 4" in text
    assert "log of the server:\n  cannot start: no license" in text


def test_the_list_checks_all_servers_at_the_same_time(mcp: McpCommand) -> None:
    add_scripted(mcp, "good", tools=TOOLS)
    mcp.run("add", "missing", "no-such-program")
    mcp.run("add", "off", "no-such-program")
    mcp.run("disable", "off")

    rows = {row["name"]: row["state"] for row in map(json.loads, mcp.run("list", "--check", "--json").splitlines())}

    assert mcp.status == 1
    assert rows["good"].startswith("connected in ")
    assert rows["missing"] == "failed: no-such-program does not exist; check command and cwd"
    assert rows["off"] == "disabled"
    mcp.run("remove", "missing")
    mcp.run("list", "--check")
    assert mcp.status == 0


def test_the_list_shows_no_secrets_of_commands_and_addresses(mcp: McpCommand, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MY_KEY", "s3cret")
    mcp.home.mkdir()
    (mcp.home / "config.toml").write_text(
        '[mcp.servers]\na = {command = "npx", args = ["srv", "--key", "${MY_KEY}"]}\n'
        'b = {url = "https://me:${MY_KEY}@example.com/mcp?key=${MY_KEY}"}\nc = {url = "https://me:s3cret@x/mcp"}\n'
    )

    rows = mcp.rows()

    assert {name: row["target"] for name, row in rows.items()} == {
        "a": "npx srv --key ${MY_KEY}",
        "b": "https://example.com/mcp",
        "c": "https://x/mcp",
    }
    assert "s3cret" not in mcp.run("list")
