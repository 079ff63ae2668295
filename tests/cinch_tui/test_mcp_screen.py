from __future__ import annotations

import time
from pathlib import Path

import pytest
from fakes.dialogs import Host
from fakes.given_mcp_servers import BROKEN, DOCS, GITHUB, STATES, GivenServers, control
from fakes.recording_host import RecordingHost
from msgspec.structs import replace
from textual.widgets import Static

from cinch_tui.commands.builtin import builtin_commands
from cinch_tui.commands.mcp import parse_arguments, prompt_commands
from cinch_tui.commands.registry import Invocation, Registry
from cinch_tui.mcp_servers import login_store
from cinch_tui.mcp_watch import McpWatch
from cinch_tui.reports.mcp import table
from cinch_tui.screens.mcp import McpScreen
from cinch_tui.screens.mcp_login import McpLoginScreen, show_login
from cinch_tui.screens.reader import Reader
from cinch_tui.widgets.item_list import ItemList
from harness.errors import CinchError
from tools.mcp.auth.token_store import Login as StoredLogin
from tools.mcp.catalog import McpPrompt, McpPromptArgument
from tools.mcp.state import RequestFailed, ServerState


class ChangingServers(GivenServers):
    """Servers that note what is asked of them."""

    def __init__(self) -> None:
        super().__init__()
        self.calls: list[str] = []

    async def reconnect(self, name: str) -> None:
        self.calls.append(f"reconnect {name}")

    async def disconnect(self, name: str) -> None:
        self.calls.append(f"disconnect {name}")


def rows(app: Host) -> list[str]:
    items = app.screen.query_one(ItemList)
    return [line for y in range(items.size.height) if (line := " ".join(items.render_line(y).text.split()))]


def text_of(app: Host, selector: str) -> str:
    return str(app.screen.query_one(selector, Static).render())


def opened(servers: GivenServers) -> Host:
    return Host(McpScreen(control(RecordingHost().session, servers)))


async def test_each_server_shows_its_state_and_what_it_offers() -> None:
    app = opened(GivenServers())

    async with app.run_test(size=(160, 40)):
        shown = rows(app)

    assert shown[0] == "● github 2 tools (~80 tokens) · 2 resources · 1 prompt"
    assert shown[1] == "◆ docs needs login: the server requires a login"
    assert shown[2].startswith("✗ broken")
    assert "\x1b" not in "".join(shown)
    assert shown[3] == "○ archive off: disabled"


async def test_changed_state_and_the_next_attempt_are_shown_at_once() -> None:
    servers = GivenServers()
    app = opened(servers)

    async with app.run_test(size=(120, 30)) as pilot:
        servers.change(ServerState(GITHUB, "reconnecting", "exited", retry_at=time.monotonic() + 40.4), *STATES[1:])
        await pilot.pause()

        assert rows(app)[0] == "◌ github reconnecting in 40 s: exited"


async def test_tools_of_a_server_are_found_and_read() -> None:
    app = opened(GivenServers())

    async with app.run_test(size=(120, 30)) as pilot:
        await pilot.press("enter")
        assert rows(app)[1] == "get_issue asks · read-only · ~39 tokens · Get an issue of a repository."
        await pilot.press("slash", *"undone")
        assert [each.split()[0] for each in rows(app)] == ["delete_repository"]
        await pilot.press("enter")
        await pilot.pause()
        assert isinstance(app.screen, Reader)
        words = text_of(app, "#words")
        await pilot.press("escape", "escape", "escape")
        back = rows(app)

    assert "mcp__github__delete_repository" in words
    assert "This cannot be undone." in words
    assert '"Number of the issue"' in words
    assert back[0].startswith("● github")


async def test_allowed_tools_are_marked() -> None:
    host = RecordingHost()
    app = Host(McpScreen(control(host.session)))
    host.session.agent.state.permissions.set_approval("off")

    async with app.run_test(size=(120, 30)) as pilot:
        await pilot.press("enter")

        assert rows(app)[1].startswith("get_issue allowed · read-only")


async def test_keys_reconnect_and_turn_servers_off_and_on() -> None:
    servers = ChangingServers()
    app = opened(servers)

    async with app.run_test(size=(120, 30)) as pilot:
        await pilot.press("r", "e", "down", "down", "down", "e")
        await pilot.pause()

    assert servers.calls == ["reconnect github", "disconnect github", "reconnect archive"]


async def test_log_follows_new_lines() -> None:
    servers = GivenServers()
    app = opened(servers)

    async with app.run_test(size=(120, 30)) as pilot:
        await pilot.press("v")
        await pilot.pause()
        before = text_of(app, "#words")
        servers.given = (replace(STATES[0], log=("error: [b]disk[/b] full",)), *STATES[1:])
        await pilot.pause(0.6)
        after = text_of(app, "#words")

    assert before == "info: ready\nwarning: rate limit at 80 %"
    assert after == "error: [b]disk[/b] full"


class Login:
    """Login request that notes what happens to it."""

    server, host, url, is_encrypted = "docs", "login.example.com", "http://login.example.com/a", False

    def __init__(self) -> None:
        self.calls: list[str] = []

    def paste(self, address: str) -> None:
        self.calls.append(address)
        if "state=1" not in address:
            raise CinchError("this is not the address of this login")

    def cancel(self) -> None:
        self.calls.append("cancel")


async def test_login_takes_a_pasted_address_and_esc_cancels_it() -> None:
    login, app = Login(), Host()

    async with app.run_test(size=(80, 24)) as pilot:
        showing = app.run_worker(show_login(app, login))  # type: ignore[arg-type] what the screen uses
        await pilot.pause()
        assert isinstance(app.screen, McpLoginScreen)
        await pilot.press(*"http://x", "enter")
        note = text_of(app, "#note")
        await pilot.press("escape")
        await showing.wait()

    assert note == "this is not the address of this login."
    assert login.calls == ["http://x", "cancel"]


async def test_login_closes_when_it_has_ended_elsewhere() -> None:
    login, app = Login(), Host()

    async with app.run_test(size=(80, 24)) as pilot:
        showing = app.run_worker(show_login(app, login))  # type: ignore[arg-type] what the screen uses
        await pilot.pause()
        showing.cancel()
        await pilot.pause()

        assert not isinstance(app.screen, McpLoginScreen)
    assert not login.calls


def test_plain_table_names_state_contents_and_origin() -> None:
    lines = table(GivenServers()).splitlines()

    assert lines[:4] == [
        "github: connected",
        "  2 tools (~80 tokens) · 2 resources · 1 prompt",
        "  stdio npx -y @modelcontextprotocol/server-github",
        "  GitHub 1.4.0 · protocol 2025-11-25 · from ~/.config/cinch/config.toml",
    ]
    assert "\x1b" not in "".join(lines)


async def run(host: RecordingHost, text: str) -> None:
    invocation = builtin_commands().parse(text)
    assert isinstance(invocation, Invocation)
    await builtin_commands().run(invocation, host)


async def test_command_acts_on_servers_by_name() -> None:
    host, servers = RecordingHost(), ChangingServers()
    control(host.session, servers)

    for text in ("/mcp", "/mcp disable github", "/mcp reconnect nowhere", "/mcp log github", "/mcp dance github"):
        await run(host, text)

    assert host.calls[0][0] == "show_mcp"
    assert servers.calls == ["disconnect github"]
    assert [text for _, text in host.notices] == [
        "github is off for this session.",
        f"no MCP server is named nowhere; these are: github, docs, {BROKEN.name}, archive",
        "/mcp takes reconnect, enable, disable, login, logout or log, and the name of a server, not 'dance'",
    ]


async def test_logout_of_a_server_without_a_login_says_why() -> None:
    host, servers = RecordingHost(), ChangingServers()
    control(host.session, servers)

    for name in ("github", "docs", "nowhere"):
        await run(host, f"/mcp logout {name}")

    assert [text for _, text in host.notices] == [
        "MCP server github is a command and has no login",
        "There is no login for docs.",
        f"no MCP server is named nowhere; these are: github, docs, {BROKEN.name}, archive",
    ]
    assert servers.calls == []


@pytest.mark.parametrize(("name", "calls"), [("docs", ["disconnect docs", "reconnect docs"]), ("archive", [])])
async def test_logout_ends_the_connection_first_and_leaves_a_server_off(
    name: str, calls: list[str], tmp_path: Path
) -> None:
    host, servers = RecordingHost(), ChangingServers()
    control(host.session, servers)
    host.session.options.paths.data = tmp_path
    store = login_store(host.session.options)
    server = next(each.server for each in servers.states() if each.server.name == name)
    store.save(server, StoredLogin())

    await run(host, f"/mcp logout {name}")

    assert [text for _, text in host.notices] == [f"Logged out of {name}."]
    assert servers.calls == calls
    assert not store.has_login(server)


async def test_without_servers_the_command_says_how_to_add_one() -> None:
    host = RecordingHost()

    await run(host, "/mcp")

    assert host.notices == [("error", "no MCP servers are configured; cinch mcp add NAME COMMAND adds one")]


def test_notices_report_failures_once_and_recoveries() -> None:
    host, shown = RecordingHost(), list[str]()
    servers = GivenServers((ServerState(GITHUB, "connecting"), ServerState(DOCS, "connecting")))
    host.session.notice = lambda text, level="info": host.notice(text, level)

    def phases(github: ServerState, docs: ServerState) -> None:
        servers.change(github, docs)

    McpWatch(host.session, servers, shown.append).start()
    ready = ServerState(DOCS, "connected")
    phases(ServerState(GITHUB, "failed", "exited with status 4"), ServerState(DOCS, "needs_login", "401"))
    phases(ServerState(GITHUB, "connecting"), ready)
    phases(ServerState(GITHUB, "failed", "exited with status 4"), ready)
    phases(ServerState(GITHUB, "connected"), ready)
    phases(ServerState(GITHUB, "reconnecting", "lost"), ready)
    phases(ServerState(GITHUB, "connected"), ready)

    assert host.notices == [
        ("warning", "MCP server github failed: exited with status 4; /mcp log github shows its log"),
        ("warning", "MCP server docs needs a login: /mcp login docs"),
        ("info", "MCP server docs is connected again."),
        ("info", "MCP server github is connected again."),
    ]
    assert shown[1] == "MCP docs needs login · MCP github failed"
    assert shown[-1] == ""
    servers.given_prompts = ()
    servers.change(*servers.given)


def test_prompts_are_commands_while_servers_offer_them() -> None:
    servers, registry = GivenServers(), Registry(builtin_commands().groups)

    registry.replace_group(prompt_commands(servers))
    command = registry.find("/mcp__GitHub__review")
    named = [name for name, _ in registry.named]
    servers.given_prompts = ()
    registry.replace_group(prompt_commands(servers))

    assert command is not None
    assert command.usage == "/mcp__github__review number [focus]"
    assert "/mcp__github__review" in named
    assert registry.find("/mcp__github__review") is None


ARGUMENTS = McpPrompt(
    "s", "p", "P", "", (McpPromptArgument("city", required=True), McpPromptArgument("style"), McpPromptArgument("note"))
)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", {}),
        ("Bern", {"city": "Bern"}),
        ('"New York" formal', {"city": "New York", "style": "formal"}),
        ("Bern formal what's the plan?", {"city": "Bern", "style": "formal", "note": "what's the plan?"}),
        ("style=short Bern", {"style": "short", "city": "Bern"}),
        ('city="New York"', {"city": "New York"}),
        ("a=b", {"city": "a=b"}),
    ],
)
def test_arguments_of_a_prompt_are_words_quoted_texts_or_named(text: str, expected: dict[str, str]) -> None:
    assert parse_arguments(ARGUMENTS, text) == expected


def test_values_without_an_argument_are_an_error() -> None:
    with pytest.raises(CinchError, match="P takes 0 arguments"):
        parse_arguments(McpPrompt("s", "p", "P"), "more")


async def test_error_of_a_prompt_is_shown() -> None:
    host, servers = RecordingHost(), GivenServers()
    control(host.session, servers)
    command = prompt_commands(servers).commands[0]

    with pytest.raises(RequestFailed, match="github is not connected"):
        await command.handler(host, "12")
    await command.handler(host, "")

    # No user was available to enter the number.
    assert host.notices == [("info", "Not sent.")]


async def test_server_without_contents_says_so() -> None:
    app = opened(GivenServers())

    async with app.run_test(size=(120, 30)) as pilot:
        await pilot.press("down", "enter")

        assert rows(app) == ["no tools, resources or prompts"]
