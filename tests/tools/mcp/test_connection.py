from __future__ import annotations

import asyncio
import json
import os
import time
from contextlib import suppress
from pathlib import Path

import pytest
from fakes.mcp_servers import (
    call,
    listed,
    make_context,
    make_host,
    raw_server,
    running,
    state_of,
    text_of,
    tool_of,
    until,
)
from msgspec.structs import replace

from harness.views import TextView, View
from tools.mcp import connection as connection_module
from tools.mcp.server_config import McpServer


def is_alive(pid: int) -> bool:
    try:
        status = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8")
    except OSError:
        return False
    return status.rpartition(")")[2].split()[0] not in ("Z", "X")


async def test_server_that_is_down_does_not_affect_the_others(tmp_path: Path) -> None:
    servers = [
        McpServer("missing", command="no-such-program"),
        raw_server("broken", exits=4),
        McpServer("refused", url="http://127.0.0.1:9/mcp", transport="http"),
        raw_server("good", tools=[listed("echo")]),
        McpServer("unused", command="no-such-program", enabled=False),
    ]

    async with running(servers, make_host(tmp_path)) as manager:
        states = {each.server.name: each for each in manager.states()}
        output = await call(manager, "echo", tmp_path)

    assert {name: each.phase for name, each in states.items()} == {
        "missing": "failed",
        "broken": "failed",
        "refused": "failed",
        "good": "connected",
        "unused": "off",
    }
    assert states["missing"].reason == "no-such-program does not exist; check command and cwd"
    assert "exited with status 4" in states["broken"].reason
    assert "cannot start: no license" in states["broken"].log
    assert states["refused"].reason.startswith("cannot connect to 127.0.0.1:9: ")
    assert text_of(output) == "echo done"


async def test_silent_server_fails_after_the_handshake_time(tmp_path: Path) -> None:
    async with running([raw_server(silent=True, connect_timeout=0.5)], make_host(tmp_path)) as manager:
        assert state_of(manager, "raw").reason == "no answer within 0.5 s"


async def test_crashed_server_is_started_again_and_calls_wait(tmp_path: Path) -> None:
    server = raw_server(tools=[listed("crash"), listed("echo")], notes=str(tmp_path / "notes"))

    async with running([server], make_host(tmp_path)) as manager:
        crashed = await call(manager, "crash", tmp_path)
        after = await call(manager, "echo", tmp_path)
        state = state_of(manager, "raw")

    assert crashed.is_error
    assert "may have had effects, so it was not sent again" in text_of(crashed)
    assert text_of(after) == "echo done"
    assert state.phase == "connected"
    assert "about to crash" in state.log
    assert (tmp_path / "notes").read_text().splitlines() == ["call crash", "call echo"]


async def test_read_only_call_is_sent_again_after_a_crash(tmp_path: Path) -> None:
    tools = [listed("crash", annotations={"readOnlyHint": True})]
    server = raw_server(tools=tools, notes=str(tmp_path / "notes"))

    async with running([server], make_host(tmp_path)) as manager:
        output = await call(manager, "crash", tmp_path)

    assert output.is_error
    assert (tmp_path / "notes").read_text().splitlines() == ["call crash", "call crash"]


async def test_client_gives_up_after_several_attempts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connection_module, "FIRST_DELAY_S", 0.01)
    monkeypatch.setattr(connection_module, "MAX_ATTEMPTS", 3)
    phases: list[str] = []

    async with running([raw_server(exits=1)], make_host(tmp_path)) as manager:
        manager.on_change(lambda: phases.append(state_of(manager, "raw").phase))
        await until(lambda: phases.count("failed") == 2)

        assert phases.count("connecting") == 2
        with pytest.raises(TimeoutError):
            await until(lambda: phases.count("connecting") > 2, 0.3)


async def test_server_that_is_tried_again_is_waited_for_if_its_tools_are_wanted(tmp_path: Path) -> None:
    server = raw_server(tools=[listed("echo")])
    script = 'test -e started || { touch started; exit 1; }; exec "$@"'
    slow = replace(server, command="sh", args=("-c", script, "sh", server.command, *server.args))

    async with running([slow], make_host(tmp_path)) as manager:
        before = manager.tools()
        await manager.wait_ready(20, ["mcp__raw__echo"])

        assert (len(before), len(manager.tools())) == (0, 1)


async def test_progress_restarts_the_time_limit_and_is_shown(tmp_path: Path) -> None:
    updates: list[View] = []
    server = raw_server(tools=[listed("slow")], timeout=1.0)

    async with running([server], make_host(tmp_path)) as manager:
        output = await tool_of(manager, "slow").run({"steps": 4, "pause": 0.4}, make_context(tmp_path, updates))

    assert text_of(output) == "slow done"
    assert updates[-1] == TextView("100 %")


async def test_call_without_progress_times_out_and_is_cancelled(tmp_path: Path) -> None:
    notes = tmp_path / "notes"
    server = raw_server(tools=[listed("wait")], timeout=0.3, notes=str(notes))

    async with running([server], make_host(tmp_path)) as manager:
        output = await call(manager, "wait", tmp_path)
        await until(lambda: "cancelled" in notes.read_text())

    assert "no result and no progress within 0.3 s" in text_of(output)


async def test_cancelled_call_is_cancelled_at_the_server(tmp_path: Path) -> None:
    notes = tmp_path / "notes"
    server = raw_server(tools=[listed("wait"), listed("echo")], notes=str(notes))

    async with running([server], make_host(tmp_path)) as manager:
        task = asyncio.create_task(call(manager, "wait", tmp_path))
        await until(lambda: notes.exists())
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        await until(lambda: "cancelled" in notes.read_text())
        output = await call(manager, "echo", tmp_path)

    assert text_of(output) == "echo done"


async def test_changed_list_of_tools_is_loaded_again(tmp_path: Path) -> None:
    server = raw_server(tools=[listed("add_tool")])

    async with running([server], make_host(tmp_path)) as manager:
        changes: list[int] = []
        manager.on_change(lambda: changes.append(len(manager.tools())))
        await call(manager, "add_tool", tmp_path)
        await until(lambda: 2 in changes)

        assert [each.name for each in manager.tools()] == ["mcp__raw__add_tool", "mcp__raw__added"]


async def test_list_that_cannot_be_loaded_again_stays_as_it_was(tmp_path: Path) -> None:
    server = raw_server(tools=[listed("break_list")])

    async with running([server], make_host(tmp_path)) as manager:
        await call(manager, "break_list", tmp_path)
        await until(lambda: state_of(manager, "raw").problems)

        assert [each.name for each in manager.tools()] == ["mcp__raw__break_list"]
        assert state_of(manager, "raw").problems == ("the list of tools could not be loaded: the database is locked",)


async def test_close_ends_stubborn_servers_and_their_descendants(tmp_path: Path) -> None:
    server = raw_server(tools=[listed("child")], stubborn=True)

    async with running([server], make_host(tmp_path)) as manager:
        pid = int(text_of(await call(manager, "child", tmp_path)))
        assert is_alive(pid)
        began = time.monotonic()
        await manager.close()
        seconds = time.monotonic() - began

        assert seconds < 3.5
        assert not is_alive(pid)
        assert state_of(manager, "raw").phase == "off"


async def test_servers_receive_no_keys(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "secret-1")
    monkeypatch.setenv("GITHUB_TOKEN", "secret-2")
    monkeypatch.setenv("LC_OWN", "secret-3")
    server = raw_server(tools=[listed("environment")], env={"OWN": "given"})
    host = make_host(tmp_path, secrets=lambda: ["LC_OWN"])

    async with running([server], host) as manager:
        seen = json.loads(text_of(await call(manager, "environment", tmp_path)))

    assert seen["OWN"] == "given"
    assert seen["PATH"] == os.environ["PATH"]
    assert not {"ANTHROPIC_API_KEY", "GITHUB_TOKEN", "LC_OWN"} & set(seen)


async def test_reconnect_starts_a_server_that_is_off(tmp_path: Path) -> None:
    server = raw_server(tools=[listed("echo")])

    async with running([server], make_host(tmp_path)) as manager:
        await manager.disconnect("raw")
        assert (state_of(manager, "raw").phase, manager.tools()) == ("off", ())
        await manager.reconnect("raw")

        await until(lambda: state_of(manager, "raw").phase == "connected")
        assert len(manager.tools()) == 1


def running_servers(marker: str) -> int:
    """Return the number of processes with a text in their arguments."""
    found = 0
    for each in Path("/proc").glob("[0-9]*/cmdline"):
        with suppress(OSError):
            found += marker in each.read_text(encoding="utf-8", errors="replace")
    return found


async def test_concurrent_reconnects_leave_one_connected_server(tmp_path: Path) -> None:
    server = raw_server(tools=[listed("echo")], notes=str(tmp_path / "notes"))

    async with running([server], make_host(tmp_path)) as manager:
        await asyncio.gather(manager.reconnect("raw"), manager.reconnect("raw"))
        await until(lambda: state_of(manager, "raw").phase == "connected")
        output = await call(manager, "echo", tmp_path)
        processes = running_servers(str(tmp_path))

        await asyncio.gather(manager.reconnect("raw"), manager.disconnect("raw"))
        phase = state_of(manager, "raw").phase
        left = running_servers(str(tmp_path))

    assert (text_of(output), processes) == ("echo done", 1)
    assert (phase, left) == ("off", 0)
