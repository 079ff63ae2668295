from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest
from fakes.fork_server import run_forked
from fakes.mcp_servers import RAW_SERVER, listed
from fakes.model_server import Item, ModelServer, Reply

from cinch_tui.cli.arguments import parse_arguments
from cinch_tui.cli.start import prepare
from cinch_tui.config.options import Options
from cinch_tui.config.settings import Settings
from cinch_tui.mcp_session import McpSession
from harness.agent.agent import Agent
from harness.agent.options import AgentOptions
from harness.messages import user
from harness.workspace.workspace import Workspace
from providers.demo import scripted
from tools.mcp.host import SamplingRequest


def toml(name: str, **script: object) -> str:
    args = json.dumps([str(RAW_SERVER), json.dumps(script)])
    return f"[mcp.servers.{name}]\ncommand = {json.dumps(sys.executable)}\nargs = {args}\n"


def ask(
    folder: Path, config: str, script: Sequence[Item], *flags: str
) -> tuple[subprocess.CompletedProcess[str], ModelServer]:
    # On a busy machine, servers take longer to start than usual.
    wait = "" if "[mcp]" in config else "[mcp]\nstartup_wait_s = 30\n"
    (folder / "config.toml").write_text(config + wait, encoding="utf-8")
    command = ["-p", "-m", "anthropic/fake-model", "go", *flags, "--config", str(folder / "config.toml")]
    with ModelServer(script) as server:
        environment = {**os.environ, "ANTHROPIC_API_KEY": "k", "ANTHROPIC_BASE_URL": server.url}
        done = run_forked([*command, "--output-format", "stream-json"], cwd=folder, env=environment)
    return done, server


def test_tool_of_a_server_is_called_in_print_mode(tmp_path: Path) -> None:
    config = toml("raw", tools=[listed("echo")])
    script = [Reply(calls=[("mcp__raw__echo", {})]), Reply("done")]

    done, server = ask(tmp_path, config, script, "--allow", "mcp__raw")

    lines = [json.loads(line) for line in done.stdout.splitlines()]
    assert done.returncode == 0, done.stderr
    assert lines[0]["mcp_servers"] == [{"name": "raw", "status": "connected"}]
    assert "mcp__raw__echo" in lines[0]["tools"]
    assert "echo done" in json.dumps(server.requests[1].body)


def test_tool_of_a_server_needs_approval(tmp_path: Path) -> None:
    script = [Reply(calls=[("mcp__raw__echo", {})]), Reply("done")]

    done, _ = ask(tmp_path, toml("raw", tools=[listed("echo", annotations={"readOnlyHint": True})]), script)

    assert done.returncode == 4
    assert "mcp__raw__echo needs approval" in done.stderr


def test_server_that_is_down_is_reported_and_the_run_continues(tmp_path: Path) -> None:
    config = toml("broken", exits=3) + toml("good", tools=[listed("echo")])

    done, _ = ask(tmp_path, config, [Reply("done")])

    lines = [json.loads(line) for line in done.stdout.splitlines()]
    assert done.returncode == 0, done.stderr
    assert {each["name"]: each["status"] for each in lines[0]["mcp_servers"]} == {
        "broken": "failed",
        "good": "connected",
    }
    assert "MCP server broken failed: " in done.stderr
    assert "exited with status 3" in done.stderr


def test_required_server_that_is_down_ends_the_run(tmp_path: Path) -> None:
    done, server = ask(tmp_path, toml("broken", exits=3), [Reply("done")], "--require-mcp")

    assert done.returncode == 1
    assert "MCP server broken failed: " in done.stderr
    assert server.requests == []


@pytest.mark.parametrize(
    ("config", "problem"),
    [
        ('[mcp.servers.wrong]\nurl = "ftp://a"\n', "needs a url that begins with http:// or https://"),
        (toml("slow", silent=True) + "[mcp]\nstartup_wait_s = 0.2\n", "MCP server slow is still connecting"),
    ],
)
def test_required_server_that_is_invalid_or_slow_ends_the_run(config: str, problem: str, tmp_path: Path) -> None:
    done, server = ask(tmp_path, config, [Reply("done")], "--require-mcp")

    assert done.returncode == 1
    assert problem in done.stderr
    assert server.requests == []


def test_slow_server_delays_the_first_request_only_for_the_time_in_the_settings(tmp_path: Path) -> None:
    done, _ = ask(tmp_path, toml("slow", silent=True) + "[mcp]\nstartup_wait_s = 0.5\n", [Reply("done")])

    assert done.returncode == 0
    assert "MCP server slow is still connecting" in done.stderr


async def test_changed_configuration_replaces_the_servers(tmp_path: Path) -> None:
    file = tmp_path / "config.toml"
    agent = Agent(scripted("done"), [], "You help.", AgentOptions(workspace=Workspace(tmp_path)))

    def configured(config: str) -> tuple[Options, Settings]:
        file.write_text(f"{config}[mcp]\nstartup_wait_s = 30\n", encoding="utf-8")
        return prepare(parse_arguments(["--config", str(file), "--cwd", str(tmp_path)]))

    session = McpSession(agent, *configured(toml("one", tools=[listed("echo")])))
    problems = await session.start()
    await session.wait_ready()
    first = [tool.name for tool in agent.state.late.tools]
    await session.load(*configured(toml("two", tools=[listed("echo")])))
    await session.wait_ready()
    second = [tool.name for tool in agent.state.late.tools]
    await agent.close()

    assert (problems, first, second) == ([], ["mcp__one__echo"], ["mcp__two__echo"])
    assert session.states == ()


async def test_sampling_is_answered_by_the_model_of_the_agent(tmp_path: Path) -> None:
    agent = Agent(scripted("Bern."), [], "You help.", AgentOptions(workspace=Workspace(tmp_path)))
    session = McpSession(agent, *prepare(parse_arguments(["--cwd", str(tmp_path)])))

    reply = await session.sample(SamplingRequest("raw", (user("Capital?"),), "You know capitals.", 100))
    await agent.close()

    assert (reply.text, reply.is_truncated) == ("Bern.", False)
