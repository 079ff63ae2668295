"""A thousand agents in one process, each with an active run: their memory, and what remains after an abort."""

from __future__ import annotations

import asyncio
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT), str(ROOT / "benchmarks")]

from measure import memory, report  # noqa: E402  the path comes first

from harness.agent.agent import Agent  # noqa: E402
from harness.agent.options import AgentOptions  # noqa: E402
from harness.workspace.workspace import Workspace  # noqa: E402
from providers.demo import Call, Hang, Reply, Say, scripted  # noqa: E402
from tools import builtin_tools, load  # noqa: E402

AGENTS = 1000
READ = Reply((Say("Let me look. "), Call("read_file", {"path": "module.py"})))
STUCK = Reply((Say("It says that the answer is forty-two, and " * 5), Hang()))


def new_agent(folder: Path) -> Agent:
    """Create an agent as a web service does for each visitor, with its own tools, folder and conversation."""
    return Agent(scripted(READ, STUCK), builtin_tools(), options=AgentOptions(workspace=Workspace(folder)))


async def hold_open(folder: Path) -> None:
    load(builtin_tools())
    await one_ended(new_agent(folder))
    before, tasks = memory(), len(asyncio.all_tasks())
    agents = [new_agent(folder) for _ in range(AGENTS)]
    listeners = [agent.listen() for agent in agents]
    began = time.perf_counter()
    async with asyncio.TaskGroup() as group:
        runs = [group.create_task(agent.prompt("What does module.py say?")) for agent in agents]
        while not all(is_stuck(agent) for agent in agents):
            await asyncio.sleep(0.05)
        opened = time.perf_counter() - began
        held = memory()
        open_tasks = len(asyncio.all_tasks()) - tasks
        for agent in agents:
            agent.abort()
    ended = time.perf_counter() - began - opened
    stop_reasons = {run.result().stop_reason for run in runs}
    report(f"{AGENTS} agents with an active run", held, before, unit="MB", than="one agent", goal="< 200 MB")
    print(
        f"  {(held - before) / AGENTS * 1000:.0f} KB and {open_tasks / AGENTS:.0f} tasks each, opened in {opened:.1f} s"
    )
    report("all of them aborted", ended, opened, unit="s", than="opening them")
    left = len(asyncio.all_tasks()) - tasks
    print(f"  ended as {stop_reasons}, {left} tasks left, {sum(each.waiting for each in listeners)} events received")


def is_stuck(agent: Agent) -> bool:
    """Return True if the second reply has started; it never ends."""
    return agent.is_running and len(agent.history) == 3


async def one_ended(agent: Agent) -> None:
    """Load everything that is loaded on first use."""
    run = asyncio.create_task(agent.prompt("go"))
    while not is_stuck(agent):
        await asyncio.sleep(0.01)
    agent.abort()
    await run


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as name:
        (Path(name) / "module.py").write_text("def answer():\n    return 42\n" * 30, encoding="utf-8")
        asyncio.run(hold_open(Path(name)))
