from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

from fakes.mcp_servers import RAW_SERVER, listed
from fakes.model_server import Item, ModelServer, Reply


def toml(name: str, **script: object) -> str:
    args = json.dumps([str(RAW_SERVER), json.dumps(script)])
    return f"[mcp.servers.{name}]\ncommand = {json.dumps(sys.executable)}\nargs = {args}\n"


def ask(
    folder: Path, config: str, script: list[Item], *flags: str
) -> tuple[subprocess.CompletedProcess[str], ModelServer]:
    (folder / "config.toml").write_text(config, encoding="utf-8")
    command = [sys.executable, "-m", "cinch_tui", "-p", "-m", "anthropic/fake-model", "go", *flags]
    with ModelServer(script) as server:
        environment = {"ANTHROPIC_API_KEY": "k", "ANTHROPIC_BASE_URL": server.url}
        done = subprocess.run(
            [*command, "--config", str(folder / "config.toml"), "--output-format", "stream-json"],
            cwd=folder,
            env={**os.environ, **environment},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
            timeout=60,
        )
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


def test_slow_server_delays_the_first_request_only_for_the_time_in_the_settings(tmp_path: Path) -> None:
    done, _ = ask(tmp_path, toml("slow", silent=True) + "[mcp]\nstartup_wait_s = 0.5\n", [Reply("done")])

    assert done.returncode == 0
    assert "MCP server slow is still connecting" in done.stderr
