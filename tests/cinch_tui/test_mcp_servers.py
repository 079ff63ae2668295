from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from msgspec.structs import replace

from cinch_tui.config.layers import Sources, load_config
from cinch_tui.config.options import Options
from cinch_tui.config.paths import find_paths
from cinch_tui.mcp_servers import ConfiguredServers, read_servers
from cinch_tui.reports.mcp import address
from cinch_tui.trust.inventory import inventory
from cinch_tui.trust.store import TrustStore
from harness.errors import ConfigError
from tools.mcp.host import McpHost
from tools.mcp.server_config import McpAuth, McpServer
from tools.mcp.servers import McpServers
from tools.mcp.state import RequestFailed, ServerState


@dataclass
class Setup:
    """A user's files and a project's."""

    folder: Path
    environ: dict[str, str] = field(default_factory=dict)

    @property
    def project(self) -> Path:
        return self.folder / "project"

    def write(self, name: str, text: str) -> None:
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)

    def write_json(self, **servers: object) -> None:
        self.write("project/.mcp.json", json.dumps({"mcpServers": servers}))

    def trust(self) -> None:
        TrustStore(self.folder / "trusted.json").trust(inventory(self.project, self.folder / "config.toml"))

    @property
    def options(self) -> Options:
        files = [self.project / ".cinch" / name for name in ("config.toml", "config.local.toml")]
        of_project, local = (path if path.exists() else None for path in files)
        user, managed = self.folder / "config.toml", self.folder / "managed.toml"
        trust = self.folder / "trusted.json"
        sources = Sources(
            user, of_project, self.environ, trust, local_file=local, folder=self.project, managed_file=managed
        )
        config = load_config(sources)
        paths = find_paths({"CINCH_HOME": str(self.folder)})
        return Options(self.project, paths, self.environ, sources, notices=config.notices, servers=config.servers)

    def read(self) -> ConfiguredServers:
        return read_servers(self.options)

    def servers(self) -> dict[str, McpServer]:
        return {server.name: server for server in self.read().servers}


@pytest.fixture
def setup(tmp_path: Path) -> Setup:
    made = Setup(tmp_path)
    (made.project / ".git").mkdir(parents=True)
    return made


def test_servers_of_the_user_file_are_loaded(setup: Setup) -> None:
    setup.write(
        "config.toml",
        """
        [mcp.servers.github]
        command = "npx"
        args = ["-y", "server"]
        env.TOKEN = "${TOKEN}"
        cwd = "/tmp"
        tools = ["get_*"]
        timeout_s = 5
        [mcp.servers.remote]
        url = "https://${HOST:-example.com}/mcp"
        auth.token = "${TOKEN}"
        [mcp.servers.remote.headers]
        "X-A.B" = "1"
        """,
    )
    setup.environ["TOKEN"] = "s3"

    found = read_servers(setup.options)

    source = str(setup.folder / "config.toml")
    assert found.problems == []
    assert list(found.servers) == [
        McpServer(
            "github",
            "npx",
            ("-y", "server"),
            {"TOKEN": "s3"},
            "/tmp",
            tools=("get_*",),
            timeout=5.0,
            source=source,
            target="npx -y server",
        ),
        McpServer(
            "remote",
            url="https://example.com/mcp",
            transport="http",
            headers={"X-A.B": "1"},
            auth=McpAuth("bearer", token="s3"),
            source=source,
            target="https://${HOST:-example.com}/mcp",
        ),
    ]


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        (
            'comand = "x"',
            "config.toml, line 2: unknown key 'mcp.servers.a.comand'; did you mean 'mcp.servers.a.command'?",
        ),
        ("timeout_s = -1", "config.toml, line 2: mcp.servers.a.timeout_s must be 0 or more, not -1"),
        ('transport = "ws"', "config.toml, line 2: mcp.servers.a.transport must be one of stdio, http, sse, not 'ws'"),
        ("env.A = 3", "config.toml, line 2: mcp.servers.a.env.A must be text, not 3"),
        (
            'auth.tokn = "x"',
            "config.toml, line 2: unknown key 'mcp.servers.a.auth.tokn'; did you mean 'mcp.servers.a.auth.token'?",
        ),
    ],
)
def test_mistakes_name_file_line_and_nearest_key(setup: Setup, line: str, problem: str) -> None:
    setup.write("config.toml", f"[mcp.servers.a]\n{line}\n")

    with pytest.raises(ConfigError) as caught:
        setup.read()

    assert str(caught.value).removeprefix(f"{setup.folder}/") == problem


def test_a_missing_variable_affects_only_its_server(setup: Setup) -> None:
    setup.write("config.toml", '[mcp.servers]\na = {command = "a", env.K = "${NONE}"}\nb = {command = "b"}\n')

    found = setup.read()

    assert [server.name for server in found.servers] == ["b"]
    assert found.problems == [
        f"{setup.folder}/config.toml: MCP server a needs the environment variable NONE, which is not set"
    ]


@pytest.mark.parametrize(
    ("table", "problem"),
    [
        ('command = "x"\nurl = "https://x"', "has both a command and a url"),
        ('url = "file:///etc/passwd"', "needs a url that begins with http:// or https://"),
        ("timeout_s = 3", "has neither a command nor a url"),
    ],
)
def test_a_contradictory_server_is_reported(setup: Setup, table: str, problem: str) -> None:
    setup.write("config.toml", f"[mcp.servers.a]\n{table}\n")

    found = setup.read()

    assert found.servers == ()
    assert problem in found.problems[0]


def test_files_of_a_project_have_no_effect_before_trust(setup: Setup) -> None:
    setup.write_json(a={"command": "evil"})
    setup.write("project/.cinch/config.toml", '[mcp.servers.b]\ncommand = "evil"\nargs = ["${SECRET}"]\n')

    found = setup.read()

    assert found.servers == ()
    assert {server.name for server in found.untrusted} == {"a", "b"}
    assert "so these keys have no effect: mcp.servers.b;" in setup.options.notices[0]


def test_trust_ends_when_the_file_changes(setup: Setup) -> None:
    setup.write_json(a={"command": "good"})
    setup.trust()
    assert setup.servers()["a"].command == "good"

    setup.write_json(a={"command": "evil"})

    assert setup.servers() == {}


def test_local_wins_over_project_over_user(setup: Setup) -> None:
    for layer, name in (("config.toml", "user"), ("project/.cinch/config.toml", "project")):
        setup.write(layer, f'[mcp.servers.a]\ncommand = "{name}"\nenv.FROM = "{name}"\n')
    setup.write_json(a={"command": "json"}, c={"command": "json"})
    setup.write("project/.cinch/config.local.toml", '[mcp.servers.a]\ncommand = "local"\n')
    setup.trust()

    found = setup.read()

    servers = {server.name: server for server in found.servers}
    assert servers["a"].command == "local"
    assert servers["a"].env == {}
    assert servers["c"].command == "json"
    assert found.overridden == {
        "a": (
            str(setup.folder / "config.toml"),
            str(setup.project / ".mcp.json"),
            str(setup.project / ".cinch/config.toml"),
        )
    }


def test_a_managed_server_wins(setup: Setup) -> None:
    setup.write("managed.toml", '[mcp.servers.a]\ncommand = "managed"\n')
    setup.write("config.toml", '[mcp.servers.a]\ncommand = "user"\n')

    assert setup.servers()["a"].command == "managed"


def test_a_table_without_command_changes_a_server_of_another_file(setup: Setup) -> None:
    setup.write_json(a={"command": "json"})
    setup.write("project/.cinch/config.local.toml", '[mcp.servers.a]\nenabled = false\nenv.A = "1"\n')
    setup.trust()

    server = setup.servers()["a"]

    assert (server.command, server.enabled, server.env) == ("json", False, {"A": "1"})


def test_a_disabled_server_needs_no_variables(setup: Setup) -> None:
    setup.write("config.toml", '[mcp.servers.a]\ncommand = "${NONE}"\nenabled = false\n')

    found = setup.read()

    assert [server.enabled for server in found.servers] == [False]
    assert found.problems == []


async def test_a_disabled_server_is_checked_and_its_variables_expanded(setup: Setup) -> None:
    setup.environ["KEY"] = "s3cret"
    setup.write(
        "config.toml",
        '[mcp.servers]\na = {command = "a", env.K = "${KEY}", enabled = false}\n'
        'b = {command = "b", env.K = "${NONE}", enabled = false}\n',
    )

    expanded, broken = setup.read().servers

    assert (expanded.env, expanded.problem) == ({"K": "s3cret"}, "")
    servers = McpServers([expanded, broken], McpHost(setup.folder, setup.folder))
    with pytest.raises(RequestFailed, match="the MCP server b needs the environment variable NONE, which is not set"):
        await servers.reconnect("b")


def test_variables_and_inputs_of_a_json_file(setup: Setup) -> None:
    setup.write_json(a={"command": "${DIR:-/opt}/a"}, b={"command": "${input:key}"})
    setup.trust()

    found = setup.read()

    assert [server.command for server in found.servers] == ["/opt/a"]
    assert "MCP server b needs the input 'key'" in found.problems[0]


def test_the_nearest_json_file_wins(setup: Setup) -> None:
    setup.write_json(a={"command": "outer"}, b={"command": "outer"})
    setup.write("project/inner/.mcp.json", '{"mcpServers": {"a": {"command": "inner"}}}')
    options = setup.options
    inner = setup.project / "inner"
    TrustStore(options.sources.trust_file).trust(inventory(inner))

    found = {server.name: (server.command, server.cwd) for server in read_servers(_moved(options, inner)).servers}

    assert found == {"a": ("inner", ""), "b": ("outer", str(setup.project))}


def _moved(options: Options, folder: Path) -> Options:
    return replace(options, cwd=folder)


def test_the_inventory_shows_commands_and_addresses(setup: Setup) -> None:
    setup.write_json(
        a={"command": "npx", "args": ["-y", "x"], "env": {"MODE": "1", "KEY": "${SECRET:-}"}},
        b={"url": "https://x", "headers": {"Authorization": "Bearer ${TOKEN}"}},
    )
    setup.write("project/.cinch/config.toml", 'ui.editor = "vi"\n[mcp.servers.c]\ncommand = "serve"\n')

    summaries = {found.kind: found.summary for found in inventory(setup.project).found}

    assert summaries == {
        "MCP servers": "starts a: npx -y x with MODE, KEY (reads $SECRET); connects b to https://x (reads $TOKEN)",
        "configuration": "sets ui.editor; starts c: serve",
    }


def test_cinch_as_a_server_starts_none(setup: Setup) -> None:
    setup.write("config.toml", '[mcp.servers.cinch]\ncommand = "cinch"\nargs = ["mcp", "serve"]\n')

    assert read_servers(replace(setup.options, uses_servers=False)) == ConfiguredServers()


def test_secrets_are_not_in_the_repr(setup: Setup) -> None:
    setup.write("config.toml", '[mcp.servers.a]\ncommand = "a"\nenv.K = "s3cret"\nauth.token = "s3cret"\n')

    assert "s3cret" not in repr(setup.options)
    assert "s3cret" not in repr(setup.read())


def test_reports_show_a_server_as_written(setup: Setup) -> None:
    setup.environ["KEY"] = "s3cret"
    setup.write(
        "config.toml",
        '[mcp.servers]\na = {command = "npx", args = ["${KEY}"]}\nb = {url = "https://u:${KEY}@x/mcp?k=${KEY}"}\n',
    )

    servers = setup.read().servers

    assert [address(ServerState(each, "off")) for each in servers] == ["stdio npx ${KEY}", "http https://x/mcp"]
    assert [each.args or each.url for each in servers] == [("s3cret",), "https://u:s3cret@x/mcp?k=s3cret"]
    assert "s3cret" not in repr(servers)


def test_nothing_is_imported_without_servers(setup: Setup) -> None:
    code = (
        "import sys; from pathlib import Path; from cinch_tui.cli.main import main; "
        "from cinch_tui.cli.start import prepare; from cinch_tui.cli.arguments import parse_arguments\n"
        "from cinch_tui.mcp_servers import ConfiguredServers, read_servers\n"
        "options, _ = prepare(parse_arguments([])); assert read_servers(options) == ConfiguredServers()\n"
        "print([name for name in sys.modules if name.startswith(('mcp', 'tools'))])"
    )

    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=setup.project,
        env={"CINCH_HOME": str(setup.folder), "PYTHONPATH": str(Path(__file__).parents[2])},
        capture_output=True,
        text=True,
        check=True,
    )

    assert done.stdout.strip() == "[]"
