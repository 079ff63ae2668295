"""Agent construction, loop overhead per turn, tool result to next request, and a read through the whole pipeline."""

from __future__ import annotations

import asyncio
import sys
import tempfile
import time
import tracemalloc
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT), str(ROOT / "benchmarks")]

from measure import in_turn, report  # noqa: E402  the path comes first

from harness.agent import Agent, AgentOptions  # noqa: E402
from harness.events import Event, RequestStart, ToolExecutionEnd, ToolExecutionStart  # noqa: E402
from harness.limits import Limits  # noqa: E402
from harness.workspace import Workspace  # noqa: E402
from providers.demo import Call, Reply, scripted  # noqa: E402
from tools import builtin_tools  # noqa: E402

RUNS = 9
AGENTS = 1000
TURNS = 200


class Bare:
    """As many attributes as an agent has parts, and nothing else."""

    def __init__(self) -> None:
        self.parts = [dict[str, int]() for _ in range(8)]


def construction() -> None:
    model = scripted("x")

    def agents() -> float:
        began = time.perf_counter()
        for _ in range(AGENTS):
            Agent(model)
        return (time.perf_counter() - began) / AGENTS * 1e6

    def bare() -> float:
        began = time.perf_counter()
        for _ in range(AGENTS):
            Bare()
        return (time.perf_counter() - began) / AGENTS * 1e6

    built, reference = in_turn(RUNS, agents, bare)
    report("agent construction", built, reference, unit="µs", than="a bare object of eight dicts", goal="≤ 50 µs")
    tracemalloc.start()
    before = tracemalloc.get_traced_memory()[0]
    kept = [Agent(model) for _ in range(AGENTS)]
    each = (tracemalloc.get_traced_memory()[0] - before) / len(kept)
    tracemalloc.stop()
    report("agent memory", each / 1024, 10, unit="KiB", than="the goal of")


def reading(folder: Path) -> None:
    path = folder / "module.py"
    path.write_text("def answer():\n    return 42\n" * 30, encoding="utf-8")
    call = Reply((Call("read_file", {"path": "module.py"}),))
    options = AgentOptions(workspace=Workspace(folder), limits=Limits(max_turns=0))
    gaps: list[float] = []
    reads: list[float] = []
    marks: dict[str, float] = {}

    def watch(event: Event) -> None:
        now = time.perf_counter()
        match event:
            case ToolExecutionStart():
                marks["start"] = now
            case ToolExecutionEnd():
                reads.append(now - marks["start"])
                marks["end"] = now
            case RequestStart() if "end" in marks:
                gaps.append(now - marks["end"])
            case _:
                pass

    def turns() -> float:
        agent = Agent(scripted(*[call] * TURNS, "done"), builtin_tools(), options=options)
        agent.subscribe(watch)
        began = time.perf_counter()
        asyncio.run(agent.prompt("go"))
        return (time.perf_counter() - began) / TURNS * 1e3

    def plain() -> float:
        began = time.perf_counter()
        for _ in range(TURNS):
            path.read_text(encoding="utf-8")
        return (time.perf_counter() - began) / TURNS * 1e3

    turn, reference = in_turn(3, turns, plain)
    gaps.sort()
    reads.sort()
    report("a turn with one read_file", turn, reference, unit="ms", than="a bare read_text", goal="≤ 1 ms")
    report(
        "read_file, call to result",
        reads[len(reads) // 2] * 1e3,
        reference,
        unit="ms",
        than="a bare read_text",
        goal="≤ 0.3 ms",
    )
    report(
        "tool result to next request",
        gaps[len(gaps) // 2] * 1e3,
        turn,
        unit="ms",
        than="the whole turn",
        goal="≤ 10 ms",
    )


if __name__ == "__main__":
    construction()
    with tempfile.TemporaryDirectory() as name:
        reading(Path(name))
