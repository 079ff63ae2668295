from __future__ import annotations

import asyncio
import os
import threading
from pathlib import Path

import pytest
from fakes.runs import deeds, results_of, until
from fakes.simple_tools import SimpleTool

from harness import ConfigError, tool
from harness.events import ToolExecutionStart
from providers.demo import Call, Reply
from tools import builtin_tools


async def test_function_tools_of_one_reply_run_concurrently_unless_they_declare_a_conflict(make_agent):
    meeting = asyncio.Barrier(3)

    async def meet(name: str) -> str:
        """Meets the others."""
        async with asyncio.timeout(2):
            await meeting.wait()
        return name

    tools = [tool(risk=risk, name=f"meet_{risk}")(meet) for risk in ("execute", "edit", "read")]
    reply = Reply(tuple(Call(each.name, {"name": each.name}) for each in tools))
    agent = make_agent(reply, "done", tools=tools, approval="off")

    await agent.prompt("go")

    assert [each.text for each in results_of(agent)] == ["meet_execute", "meet_edit", "meet_read"]


async def test_sync_function_tools_run_concurrently_in_threads(make_agent):
    meeting = threading.Barrier(20)

    @tool
    def meet() -> str:
        """Meets the others."""
        meeting.wait(5)
        return "met"

    agent = make_agent(Reply(tuple(Call("meet", {}) for _ in range(20))), "done", tools=[meet], approval="off")

    await agent.prompt("go")

    assert [each.text for each in results_of(agent)] == ["met"] * 20


async def test_an_exclusive_function_tool_runs_alone(make_agent, record):
    @tool(concurrent=False, risk="none")
    async def alone() -> None:
        """Runs alone."""
        for _ in range(20):
            await asyncio.sleep(0)

    reply = Reply((Call("alone", {}), Call("look", {}), Call("alone", {})))
    agent = make_agent(reply, "done", tools=[alone, SimpleTool("look", risk="none")])
    happened = record(agent)

    await agent.prompt("go")

    assert deeds(happened.events) == [
        *("start alone", "end alone", "start look", "end look", "start alone", "end alone"),
    ]


async def test_calls_declaring_the_same_file_run_sequentially(make_agent, record, tmp_path: Path):
    @tool(risk="edit", paths=["path"])
    async def append(path: str, text: str) -> None:
        """Appends to a file."""
        before = (tmp_path / path).read_text() if (tmp_path / path).exists() else ""
        await asyncio.sleep(0.001)
        (tmp_path / path).write_text(before + text)

    same = [Call("append", {"path": path, "text": str(number)}) for number, path in enumerate(["a", "./a", "b"])]
    agent = make_agent(Reply(tuple(same)), "done", tools=[append], approval="off")
    happened = record(agent)

    await agent.prompt("go")

    assert (tmp_path / "a").read_text() == "01"
    starts = [each.call.arguments["path"] for each in happened.of(ToolExecutionStart)]
    assert starts == ["a", "b", "./a"]


def test_paths_must_name_parameters():
    with pytest.raises(ConfigError, match="'file', which is not a parameter"):

        @tool(paths=["file"])
        def read(path: str) -> str:
            """Reads."""
            return path


async def test_read_only_commands_and_read_file_run_concurrently(make_agent, record, tmp_path: Path):
    for name in ("one", "two"):
        os.mkfifo(tmp_path / name)
    (tmp_path / "notes.txt").write_text("hello\n")
    reply = Reply(
        (
            Call("bash", {"command": "cat one"}),
            Call("bash", {"command": "cat two | wc -l"}),
            Call("read_file", {"path": "notes.txt"}),
            Call("write_file", {"path": "new.txt", "content": "x"}),
        )
    )
    agent = make_agent(reply, "done", tools=builtin_tools(), approval="off")
    happened = record(agent)

    run = asyncio.create_task(agent.prompt("go"))
    await until(lambda: deeds(happened.events) == ["start bash", "start bash", "start read_file", "end read_file"])
    for name in ("one", "two"):
        await asyncio.to_thread((tmp_path / name).write_text, "x\n")
    await run

    assert deeds(happened.events)[-2:] == ["start write_file", "end write_file"]
    assert not any(each.is_error for each in results_of(agent))
