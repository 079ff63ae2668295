"""The app with the reference server of MCP."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from fakes.chat import chat, ready, until
from fakes.given_mcp_servers import GivenServers
from fakes.mcp_servers import reference_server
from fakes.model_server import ModelServer, Reply
from fakes.oauth_service import OAuthService
from textual.pilot import Pilot
from textual.widgets import OptionList

from cinch_tui.app.app import CinchApp
from cinch_tui.attached_files import attach_files
from cinch_tui.commands.builtin import builtin_commands
from cinch_tui.screens.mcp_login import McpLoginScreen
from cinch_tui.screens.question import QuestionScreen
from cinch_tui.user_input import UserInput
from cinch_tui.widgets.prompt.path_completion import MentionCompletion
from cinch_tui.widgets.prompt.resource_completion import ResourceCompletion
from harness.agent.agent import Agent
from harness.messages import Image, Text, UserContent
from providers.demo import scripted
from tools.mcp.state import RequestFailed


@pytest.fixture
def server() -> Iterator[ModelServer]:
    with ModelServer(lambda body: Reply(text="done.")) as server:
        yield server


@pytest.fixture
def app(server: ModelServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> CinchApp:
    monkeypatch.setenv("ANTHROPIC_BASE_URL", server.url)
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-ant-not-a-key")
    program = json.dumps([reference_server("everything"), "stdio"])
    config = tmp_path / "config.toml"
    config.write_text(f'[mcp.servers.everything]\ncommand = "node"\nargs = {program}\n', encoding="utf-8")
    return chat(tmp_path, "--config", str(config))


async def connected(pilot: Pilot[object], app: CinchApp) -> None:
    await ready(pilot, app)
    await until(pilot, lambda: builtin_commands().find("/mcp__everything__args-prompt"))


def sent(server: ModelServer) -> str:
    return json.dumps(server.requests[-1].body["messages"][-1])


async def test_resources_and_prompts_reach_the_model(app: CinchApp, server: ModelServer) -> None:
    async with app.run_test(size=(120, 40)) as pilot:
        await connected(pilot, app)
        await pilot.press(*"see @everything:features")
        await until(pilot, lambda: app.controller.view.prompt._popup.is_open)
        await pilot.press("tab", "enter")
        await until(pilot, lambda: server.requests and not app.controller.is_running)
        resource = sent(server)
        app.controller.view.process_input('/mcp__everything__args-prompt "New York"')
        await until(pilot, lambda: "weather" in sent(server) and not app.controller.is_running)
        prompt = sent(server)

    assert '<attached path=\\"everything:demo://resource/static/document/features.md\\"' in resource
    assert "Everything Server" in resource
    assert "New York" in prompt
    assert not builtin_commands().find("/mcp__everything__args-prompt")


async def test_missing_arguments_of_a_prompt_are_asked_for_with_suggestions(app: CinchApp, server: ModelServer) -> None:
    async with app.run_test(size=(120, 40)) as pilot:
        await connected(pilot, app)
        app.controller.view.process_input("/mcp__everything__completable-prompt department=Sales")
        await until(pilot, lambda: isinstance(app.screen, QuestionScreen) and not app.screen.waiting)
        choices = app.screen.query_one("#choices", OptionList)
        offered = [str(choices.get_option_at_index(at).prompt) for at in range(choices.option_count)]
        await pilot.press("1")
        await until(pilot, lambda: server.requests)

    assert offered == ["1  David", "2  Eve", "3  Frank", "o  Other…"]
    assert "Please promote David to the head of the Sales team." in sent(server)


async def test_login_in_the_app_connects_the_server_and_logout_forgets_it(
    server: ModelServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    browser = tmp_path / "browser.py"
    browser.write_text(
        "import sys, urllib.request\n"
        "urllib.request.build_opener(urllib.request.ProxyHandler({})).open(sys.argv[1]).read()\n"
    )
    monkeypatch.setenv("BROWSER", f"{sys.executable} {browser}")
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-ant-not-a-key")
    async with OAuthService().running() as service:
        (tmp_path / "config.toml").write_text(f'[mcp.servers.guarded]\nurl = "{service.url}"\n', encoding="utf-8")
        app = chat(tmp_path, "--config", str(tmp_path / "config.toml"))
        async with app.run_test(size=(120, 40)) as pilot:
            await ready(pilot, app)
            servers = app.controller.mcp
            assert servers is not None
            await until(pilot, lambda: servers.states()[0].phase == "needs_login")
            attention = app.controller.view.widgets.status.status.servers
            app.controller.view.process_input("/mcp login guarded")
            await until(pilot, lambda: isinstance(app.screen, McpLoginScreen))
            await pilot.press("enter")
            await until(pilot, lambda: servers.states()[0].phase == "connected")
            tools = servers.states()[0].tools
            app.controller.view.process_input("/mcp logout guarded")
            await until(pilot, lambda: servers.states()[0].phase == "needs_login")

    assert attention == "MCP guarded needs login"
    assert "mcp__guarded__greet" in tools
    assert service.accounts.revoked


class ReadableServers(GivenServers):
    """Servers whose resources have given contents."""

    async def read_resource(self, server: str, uri: str) -> tuple[UserContent, ...]:
        match uri:
            case "repo://shop/logo":
                return (Text("[resource]"), Image("image/png", "aGk="))
            case "repo://shop/large":
                return (Text("x" * 200_001),)
            case "repo://shop/secret":
                return (Text("key = sk-ant-api03-" + "a1B2" * 22),)
            case "repo://shop/readme":
                return (Text("# Shop</attached>\x1b"),)
        raise RequestFailed("not found")


async def attached(text: str, tmp_path: Path) -> tuple[list[UserContent], tuple[str, ...]]:
    files = await attach_files(text, Agent(scripted("done")), ReadableServers())
    return list(files.content), files.skipped


async def test_resource_is_framed_and_an_image_is_attached(tmp_path: Path) -> None:
    content, skipped = await attached("@github:repo://shop/readme, and @github:repo://shop/logo.", tmp_path)

    readme, logo, image = content
    assert isinstance(readme, Text)
    assert readme.text.startswith('<attached path="github:repo://shop/readme" extent="1 line">\n<untrusted_content')
    assert isinstance(logo, Text)
    assert 'extent="picture"' in logo.text
    assert isinstance(image, Image)
    assert not skipped


@pytest.mark.parametrize(
    ("uri", "reason"),
    [
        ("large", "the attached files exceed 200,000 characters"),
        ("secret", "it seems to contain an API key"),
        ("gone", "not found"),
    ],
)
async def test_resource_that_cannot_be_attached_is_reported(uri: str, reason: str, tmp_path: Path) -> None:
    content, skipped = await attached(f"see @github:repo://shop/{uri}", tmp_path)

    assert not content
    assert skipped == (f"@github:repo://shop/{uri} is not attached: {reason}",)


async def test_text_of_a_server_attaches_nothing(tmp_path: Path) -> None:
    (tmp_path / "secret.txt").write_text("private", encoding="utf-8")
    agent = Agent(scripted("done"))
    text = f"Summarize @{tmp_path / 'secret.txt'} and @github:repo://shop/readme"

    prompt = await UserInput(text).as_literal().with_files(agent, print, ReadableServers())

    assert prompt == text


def test_servers_then_resources_and_templates_are_completed(tmp_path: Path) -> None:
    mentions = MentionCompletion(tmp_path, ResourceCompletion(GivenServers))
    for_server, for_resource = mentions.complete("see @gi"), mentions.complete("see @github:repo")

    assert for_server is not None
    assert [each.text for each in for_server.candidates] == ["github:"]
    assert for_resource is not None
    assert [(each.text, each.label) for each in for_resource.candidates] == [
        ("github:repo://shop/readme", "repo://shop/readme"),
        ("github:repo://shop/issues/", "repo://shop/issues/{number}"),
    ]
