from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Literal

import pytest

from harness import Agent, AgentOptions, Workspace
from harness.agent.tool_session import ToolSession
from harness.errors import AlreadyRunning
from harness.messages import JsonObject, ToolCall, new_id
from harness.ports.tool import Tool
from providers.demo import scripted
from tools import builtin_tools


def agent_in(
    folder: Path, approval: Literal["on", "smart", "edits", "off"] = "off", *more: Callable[..., object]
) -> Agent:
    tools: list[Tool] = builtin_tools()
    return Agent(scripted(), [*tools, *more], options=AgentOptions(workspace=Workspace(folder), approval=approval))


def call(name: str, **arguments: object) -> ToolCall:
    given: JsonObject = dict(arguments)  # pyright: ignore[reportAssignmentType] JSON
    return ToolCall(new_id(), name, given)


async def until(condition: Callable[[], bool]) -> None:
    async with asyncio.timeout(10):
        while not condition():
            await asyncio.sleep(0.01)


async def test_calls_get_results_and_leave_no_history(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("alpha\n")
    agent = agent_in(tmp_path, "smart")

    async with ToolSession(agent) as session:
        read = await session.execute(call("read_file", path="a.txt"))
        denied = await session.execute(call("bash", command="touch x"))
        invalid = await session.execute(call("read_file", pth="a.txt"))
        unknown = await session.execute(call("nothing"))

    assert not read.is_error
    assert denied.is_error
    assert invalid.is_error
    assert unknown.is_error
    assert agent.messages == ()
    assert not (tmp_path / "x").exists()


async def test_calls_that_conflict_run_one_after_another(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("1\n2\n3\n4\n")

    async with ToolSession(agent_in(tmp_path)) as session:
        await session.execute(call("read_file", path="a.txt"))
        edits = [call("edit_file", path="a.txt", old_string=f"{n}\n", new_string=f"{n}{n}\n") for n in range(1, 5)]
        results = await asyncio.gather(*map(session.execute, edits))

    assert not any(result.is_error for result in results)
    assert (tmp_path / "a.txt").read_text() == "11\n22\n33\n44\n"


async def test_cancelled_call_stops_and_others_continue(tmp_path: Path) -> None:
    async def wait(file: str) -> str:
        """Wait for a file.

        Args:
            file: Name of the file.
        """
        (tmp_path / f"{file}.begun").touch()
        await until((tmp_path / file).exists)
        return file

    async with ToolSession(agent_in(tmp_path, "off", wait)) as session:
        cancelled = asyncio.create_task(session.execute(call("wait", file="never")))
        await until((tmp_path / "never.begun").exists)
        cancelled.cancel()
        await asyncio.wait([cancelled])
        (tmp_path / "now").touch()
        result = await session.execute(call("wait", file="now"))

    assert cancelled.cancelled()
    assert not result.is_error


async def test_the_end_of_the_session_cancels_running_calls(tmp_path: Path) -> None:
    agent = agent_in(tmp_path)
    async with ToolSession(agent) as session:
        running = asyncio.create_task(session.execute(call("bash", command="touch begun; sleep 100")))
        await until((tmp_path / "begun").exists)

    await asyncio.wait([running], timeout=5)
    assert running.done()
    assert not agent.is_running


async def test_an_agent_has_one_session_at_a_time(tmp_path: Path) -> None:
    agent = agent_in(tmp_path)
    async with ToolSession(agent):
        with pytest.raises(AlreadyRunning):
            async with ToolSession(agent):
                pass


async def test_the_strictest_sufficient_mode_is_named(tmp_path: Path) -> None:
    async with ToolSession(agent_in(tmp_path, "on")) as session:
        modes = {
            "read": session.mode_allowing(call("read_file", path="a.txt")),
            "write": session.mode_allowing(call("write_file", path="a.txt", content="")),
            "run": session.mode_allowing(call("bash", command="touch x")),
            "outside": session.mode_allowing(call("read_file", path="/etc/hostname")),
            "forbidden": session.mode_allowing(call("bash", command="rm -rf ~")),
        }

    assert modes == {"read": "smart", "write": "edits", "run": "off", "outside": None, "forbidden": None}
