from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from fakes.language_servers import CodeTools, code_tools, raw_server
from fakes.processes import is_alive
from msgspec.structs import replace

from harness.messages import JsonValue
from tools.lsp import connection as connections
from tools.lsp.servers import MAX_CRASHES


async def hover(tools: CodeTools) -> str:
    tools.place.put("a.txt", "word\n")
    return (await tools.ask("hover", "a.txt", 1, "word")).text


def pids(file: Path) -> list[int]:
    return [int(line) for line in file.read_text().split()]


@pytest.mark.parametrize(
    ("script", "error"),
    [
        ({"mode": "hang"}, "did not answer within 0.3 s"),
        ({"mode": "die"}, "exited with status 1. Its log ends with: no license found␛"),
        ({"mode": "garbage"}, "sent something else than messages: 'Welcome to the server!"),
        ({"mode": "no end"}, "sent something else than messages: 'xxx"),
        ({"mode": "huge"}, "sent a message of 99,999,999,999 bytes; the limit is 8,388,608"),
        ({"mode": "not json"}, "sent a message that is not JSON"),
        ({"mode": "deep"}, "sent a message that is not JSON"),
        ({"mode": "slow"}, "did not answer within 0.3 s"),
        ({"mode": "crash"}, "exited with status 3"),
        ({"mode": "invalid"}, "sent an invalid answer"),
        ({"mode": "error"}, "reports an error: no␛"),
        ({"mode": "stubborn"}, ""),
        ({"mode": "exit"}, ""),
        ({"mode": "busy"}, ""),
        ({"mode": "flood"}, ""),
        ({"capabilities": {"hoverProvider": False}}, "offers no hover texts"),
    ],
    ids=lambda value: value.get("mode", "capabilities") if isinstance(value, dict) else None,
)
async def test_hostile_server_is_bounded_and_ends(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, script: dict[str, JsonValue], error: str
) -> None:
    seconds = 0.3 if "0.3" in error else 10.0
    for name in ("START_S", "REQUEST_S"):
        monkeypatch.setattr(connections, name, seconds)
    monkeypatch.setattr(connections, "_SHUTDOWN_S", 0.2)
    if script.get("mode") == "slow":
        monkeypatch.setattr(connections, "START_S", 10.0)
    log = tmp_path / "pids"

    async with code_tools(tmp_path, raw_server(pid=str(log), **script)) as tools:
        text = await hover(tools)

    assert error in text
    assert text.startswith("The language server raw ") if error else text == 'at {"line": 0, "character": 0}'
    # A server that cannot even be greeted may not have come as far as writing its id.
    assert not any(map(is_alive, pids(log) if log.exists() else []))


async def test_requests_of_a_server_are_answered(tmp_path: Path) -> None:
    log = tmp_path / "log"
    async with code_tools(tmp_path, raw_server(mode="ask", log=str(log))) as tools:
        await hover(tools)

    messages = [json.loads(line) for line in log.read_text().splitlines()]
    answers = {each["id"]: each for each in messages if "method" not in each}
    assert answers["cinch-1"]["result"] == [None, None]
    assert answers[7]["error"]["code"] == -32601
    assert answers[8]["result"]["applied"] is False
    assert [each["method"] for each in messages if "method" in each and "id" in each] == [
        "initialize",
        "textDocument/hover",
        "shutdown",
    ]


async def test_server_that_crashes_again_and_again_is_given_up(tmp_path: Path) -> None:
    log = tmp_path / "pids"
    async with code_tools(tmp_path, raw_server(mode="crash", pid=str(log))) as tools:
        texts = [await hover(tools) for _ in range(MAX_CRASHES + 2)]

    assert "It has failed" not in texts[MAX_CRASHES - 1]
    assert texts[-1].endswith(f"It has failed {MAX_CRASHES} times and is not used.")
    assert len(pids(log)) == MAX_CRASHES


async def test_server_that_crashed_is_started_again_with_a_note(tmp_path: Path) -> None:
    async with code_tools(tmp_path, raw_server(mode="crash once", marker=str(tmp_path / "marker"))) as tools:
        crashed = await hover(tools)
        again, later = await hover(tools), await hover(tools)

    assert crashed == "The language server raw exited with status 3."
    assert (
        again
        == 'at {"line": 0, "character": 0}\n[The language server raw exited with status 3. It has been restarted.]'
    )
    assert later == 'at {"line": 0, "character": 0}'


async def test_idle_server_is_stopped_and_started_again(tmp_path: Path) -> None:
    log = tmp_path / "pids"
    async with code_tools(tmp_path, raw_server(pid=str(log)), idle_s=0.05) as tools:
        await hover(tools)
        async with asyncio.timeout(10):
            while is_alive(pids(log)[0]):
                await asyncio.sleep(0.01)
        tools.servers.options = replace(tools.servers.options, idle_s=60)

        again = await hover(tools)

    assert again == 'at {"line": 0, "character": 0}'
    assert len(pids(log)) == 2


async def test_cancelled_call_cancels_its_request(tmp_path: Path) -> None:
    log = tmp_path / "log"
    async with code_tools(tmp_path, raw_server(mode="slow", log=str(log))) as tools:
        call = asyncio.create_task(hover(tools))
        async with asyncio.timeout(10):
            while not log.exists() or "textDocument/hover" not in log.read_text():
                await asyncio.sleep(0.01)
        call.cancel()
        await asyncio.wait([call])

        started = time.monotonic()

    assert call.cancelled()
    assert time.monotonic() - started < 8


def test_server_ends_when_this_program_is_killed(tmp_path: Path) -> None:
    log = tmp_path / "pids"
    code = (
        "import asyncio\nfrom pathlib import Path\nfrom fakes.language_servers import code_tools, raw_server\n"
        "async def main():\n"
        f"    async with code_tools(Path({str(tmp_path)!r}), raw_server(mode='slow', pid={str(log)!r})) as tools:\n"
        "        tools.place.put('a.txt', 'word')\n        await tools.ask('hover', 'a.txt', 1, 'word')\n"
        "asyncio.run(main())\n"
    )
    root = Path(__file__).parents[3]
    environment = {**os.environ, "PYTHONPATH": f"{root}{os.pathsep}{root / 'tests'}"}
    with subprocess.Popen([sys.executable, "-c", code], env=environment) as program:
        wait_until(lambda: log.exists() and log.read_text().endswith("\n"))
        program.kill()

    wait_until(lambda: not any(map(is_alive, pids(log))))


def wait_until(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 20
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.01)
