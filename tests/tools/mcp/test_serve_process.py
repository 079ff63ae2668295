"""The process of `cinch mcp serve`: its start, its end, and HTTP."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx2
import mcp_types as types
import pytest
from fakes.processes import is_alive
from mcp import Client
from mcp.client.streamable_http import streamable_http_client

COMMAND = (sys.executable, "-m", "cinch_tui", "mcp", "serve")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    folder.mkdir()
    (folder / "a.txt").write_text("alpha\nbeta\n")
    return folder


def environment(folder: Path) -> dict[str, str]:
    return {**os.environ, "CINCH_HOME": str(folder.parent / "home")}


class Started:
    """A server process without an SDK client."""

    def __init__(self, folder: Path, *options: str) -> None:
        self.process = subprocess.Popen(
            [*COMMAND, *options],
            cwd=folder,
            env=environment(folder),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def send(self, method: str, params: dict[str, Any], number: int | None = None) -> None:
        message = {"jsonrpc": "2.0", "method": method, "params": params}
        message |= {} if number is None else {"id": number}
        assert self.process.stdin is not None
        self.process.stdin.write(json.dumps(message) + "\n")
        self.process.stdin.flush()

    def read(self) -> dict[str, Any]:
        assert self.process.stdout is not None
        return json.loads(self.process.stdout.readline())

    def shake_hands(self) -> None:
        client = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}
        self.send("initialize", client, 1)
        assert self.read()["result"]["serverInfo"]["name"] == "cinch"
        self.send("notifications/initialized", {})


@pytest.mark.parametrize("end", ["eof", signal.SIGTERM, signal.SIGINT])
def test_the_end_of_the_client_ends_everything(folder: Path, end: str | signal.Signals) -> None:
    server = Started(folder, "--approval", "off")
    server.shake_hands()
    command = {"command": "echo $$ > pid; echo noise >&2; sleep 100"}
    server.send("tools/call", {"name": "bash", "arguments": command}, 2)
    pid = folder / "pid"
    _wait(lambda: pid.exists() and bool(pid.read_text().strip()))

    if isinstance(end, str):
        assert server.process.stdin is not None
        server.process.stdin.close()
        server.process.stdin = None
    else:
        server.process.send_signal(end)
    output, _ = server.process.communicate(timeout=20)

    assert server.process.returncode == (0 if isinstance(end, str) else 128 + end)
    assert all(json.loads(line)["jsonrpc"] == "2.0" for line in output.splitlines())
    _wait(lambda: not is_alive(int(pid.read_text())))


def test_a_client_that_stops_reading_is_no_error(folder: Path) -> None:
    server = Started(folder)
    server.shake_hands()
    assert server.process.stdout is not None
    server.process.stdout.close()
    server.process.stdout = None

    server.send("tools/list", {}, 2)
    _, problems = server.process.communicate(timeout=20)

    assert (server.process.returncode, problems) == (0, "")


def _wait(condition: Callable[[], bool]) -> None:
    end = time.monotonic() + 20
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.02)


def test_mistakes_are_reported_before_the_protocol_begins(folder: Path) -> None:
    for options, problem in ((["--tools", "nothing"], "no tool matches"), (["--approval", "x"], "--approve must be")):
        done = subprocess.run(
            [*COMMAND, *options], cwd=folder, env=environment(folder), capture_output=True, text=True, check=False
        )
        assert (done.returncode, done.stdout) == (2, "")
        assert problem in done.stderr


async def test_clients_connect_over_http_with_the_token(folder: Path) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    process = await asyncio.create_subprocess_exec(
        *(*COMMAND, "--http", str(port), "--approval", "off"),
        cwd=folder,
        env={**environment(folder), "CINCH_MCP_TOKEN": "s3cret"},
        stderr=asyncio.subprocess.PIPE,
    )
    try:
        assert process.stderr is not None
        assert (await process.stderr.readline()).decode() == f"http://127.0.0.1:{port}/mcp\n"
        url = f"http://127.0.0.1:{port}/mcp"
        async with httpx2.AsyncClient(headers={"Authorization": "Bearer s3cret"}) as http:
            await until_listening(port)
            assert (await httpx2_status(url, {})) == 401
            assert (
                await httpx2_status(url, {"Authorization": "Bearer s3cret", "Origin": "http://evil.example"})
            ) == 403
            async with Client(streamable_http_client(url, http_client=http)) as client:
                result = await client.call_tool("read_file", {"path": "a.txt"})
    finally:
        process.terminate()
        assert await process.wait() == 128 + signal.SIGTERM

    assert isinstance(result.content[0], types.TextContent)
    assert "alpha" in result.content[0].text


async def until_listening(port: int) -> None:
    async with asyncio.timeout(20):
        while True:
            try:
                _, writer = await asyncio.open_connection("127.0.0.1", port)
            except OSError:
                await asyncio.sleep(0.05)
                continue
            writer.close()
            await writer.wait_closed()
            return


async def httpx2_status(url: str, headers: dict[str, str]) -> int:
    accepted = {"Accept": "application/json, text/event-stream", "Content-Type": "application/json"}
    async with httpx2.AsyncClient(headers={**accepted, **headers}) as client:
        return (await client.post(url, json={"jsonrpc": "2.0", "id": 1, "method": "ping"})).status_code
