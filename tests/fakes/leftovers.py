"""Resource counts of a process, and a workload whose runs are all interrupted."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
import threading
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from fakes.processes import running

from harness.agent.agent import Agent
from harness.agent.options import AgentOptions
from harness.approval.pending import PendingRequests
from harness.events import AgentEnd, Event, JobStarted, MessageUpdate, ToolApprovalRequested, ToolExecutionUpdate
from harness.workspace.workspace import Workspace
from providers import connect
from tools import builtin_tools
from tools.process_guard import process_guard

FAKES = Path(__file__).parent
SECONDS = f"86399.{os.getpid()}"
SLEEP = f"echo begun; sleep {SECONDS} & sleep {SECONDS}"
"""Command with a child process; the number of seconds is unique on the machine."""

SCRIPT = (
    '[{"type": "hang", "reply": {"text": "Once upon a time"}, "after_events": 4},'
    ' {"text": "I wait.", "calls": [["bash", {"command": "' + SLEEP + '"}]]},'
    ' {"text": "It goes on.", "calls": [["bash", {"command": "' + SLEEP + '", "background": true}]]}]'
)


@dataclass(frozen=True, slots=True)
class Held:
    """Resources the process holds: event loop tasks, threads, sleeping commands, sockets, open files."""

    tasks: int
    threads: int
    commands: int
    sockets: int
    files: int


def held() -> Held:
    # The first command starts the process guard, which stays and is not a leftover of a run.
    process_guard().start()
    links = [_link(each) for each in Path("/proc/self/fd").iterdir()]
    files = [each for each in links if each and not each.startswith("/proc")]
    return Held(
        tasks=len(asyncio.all_tasks()) if _in_a_loop() else 0,
        threads=threading.active_count(),
        commands=running(SECONDS),
        sockets=sum(each.startswith("socket:") for each in files),
        files=len(files),
    )


@contextmanager
def model_server(folder: Path, script: str = SCRIPT) -> Generator[str]:
    """Start a server in its own process, so that its threads and sockets are not counted; yield its base URL.

    Every first reply of `SCRIPT` never ends, every second one runs a command that never ends, every third one leaves
    such a command in the background.
    """
    file = folder / "script.json"
    file.write_text(script, encoding="utf-8")
    command = [sys.executable, str(FAKES / "model_server.py"), "--repeat", str(file)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None
        try:
            yield server.stdout.readline().split("OPENAI_BASE_URL=")[1].strip()
        finally:
            server.terminate()


async def break_off_runs(base_url: str, folder: Path, rounds: int) -> list[str]:
    """Start runs and interrupt each in every possible way, 12 per round; return their stop reasons."""
    workspace, ends = Workspace(folder), list[str]()
    freely = AgentOptions(workspace=workspace, approval="off")
    asking = AgentOptions(workspace=workspace, user=PendingRequests())
    ways = ((_abort, freely), (_cancel, freely), (_leave, freely), (_abort, asking))
    for stop, options in ways * rounds:
        agent = Agent(connect("openai-chat/m", base_url=base_url), builtin_tools(), options=options)
        agent.subscribe(lambda event: ends.append(event.stop_reason) if isinstance(event, AgentEnd) else None)
        await stop(agent, MessageUpdate)
        await stop(agent, ToolExecutionUpdate if options is freely else ToolApprovalRequested)
        await stop(agent, JobStarted if options is freely else ToolApprovalRequested)
        await agent.close()
    return ends


async def _abort(agent: Agent, moment: type[Event]) -> None:
    unsubscribe = agent.subscribe(lambda event: agent.abort() if isinstance(event, moment) else None)
    await agent.prompt("go")
    unsubscribe()


async def _cancel(agent: Agent, moment: type[Event]) -> None:
    run = asyncio.create_task(agent.prompt("go"))
    unsubscribe = agent.subscribe(lambda event: run.cancel() and None if isinstance(event, moment) else None)
    await asyncio.wait([run])
    unsubscribe()


async def _leave(agent: Agent, moment: type[Event]) -> None:
    async with agent.stream("go") as events:
        async for event in events:
            if isinstance(event, moment):
                break


def _in_a_loop() -> bool:
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return False
    return True


def _link(path: Path) -> str:
    try:
        return os.readlink(path)  # noqa: PTH115  a socket's name is no path
    except OSError:
        return ""
