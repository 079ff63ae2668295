"""Cost of the loop: creating an agent, a turn with a call that does nothing, a read through the whole pipeline."""

from __future__ import annotations

import asyncio
import os
import statistics
import sys
import tempfile
import time
import tracemalloc
from collections.abc import AsyncIterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT), str(ROOT / "tests"), str(ROOT / "benchmarks")]

from fakes.simple_tools import SimpleTool  # noqa: E402  the path comes first
from measure import in_turn, report  # noqa: E402

from harness.agent.agent import Agent  # noqa: E402
from harness.agent.limits import Limits  # noqa: E402
from harness.agent.options import AgentOptions  # noqa: E402
from harness.deltas import BlockDelta, BlockEnd, BlockStart, Delta, Done  # noqa: E402
from harness.events import Event, RequestStart, ToolExecutionEnd, ToolExecutionStart  # noqa: E402
from harness.execution.context import Execution  # noqa: E402
from harness.messages import ModelSpec, Usage  # noqa: E402
from harness.ports.provider import Model, Request, StaticModelInfo  # noqa: E402
from harness.workspace.workspace import Workspace  # noqa: E402
from providers.demo import scripted  # noqa: E402
from tools import builtin_tools  # noqa: E402

RUNS = 9
AGENTS = 1000
TURNS = 200
TURN_S = 0.002


class Bare:
    """Reference: an object with as many attributes as an agent."""

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


class AtOnce:
    """Model that calls `tool` once per turn for this number of turns, with each of the arguments in turn.

    It takes no time itself.
    """

    name = "at-once"

    def __init__(self, calls: int, tool: str, *arguments: str) -> None:
        self._left = calls
        self._tool = tool
        self._arguments = arguments or ("{}",)

    async def stream(self, request: Request) -> AsyncIterator[Delta]:
        usage = Usage(input=len(request.messages) * 20, output=5)
        if self._left:
            yield BlockStart(0, "tool_call", f"call_{self._left}", self._tool)
            yield BlockDelta(0, self._arguments[self._left % len(self._arguments)])
            yield BlockEnd(0)
            self._left -= 1
            yield Done("tool_use", usage)
        else:
            yield BlockStart(0, "text")
            yield BlockDelta(0, "done")
            yield BlockEnd(0)
            yield Done("stop", usage)

    async def close(self) -> None:
        pass


def model_of(provider: AtOnce) -> Model:
    return Model(provider, ModelSpec("at-once", "nothing"), StaticModelInfo())


def overhead(folder: Path) -> None:
    """Measure a turn, without the time of the model and the tool."""
    options = AgentOptions(workspace=Workspace(folder), limits=Limits(max_turns=0))

    async def bare_turns() -> None:
        history: list[dict[str, int]] = []
        for turn in range(TURNS):
            history.append(await asyncio.create_task(asyncio.sleep(0, {"turn": turn})))

    def looped(turns: int) -> float:
        model = model_of(AtOnce(turns, "nothing"))
        agent = Agent(model, [SimpleTool("nothing", risk="none")], options=options)
        began = time.perf_counter()
        asyncio.run(agent.prompt("go"))
        return (time.perf_counter() - began) / turns * 1e3

    def bare() -> float:
        began = time.perf_counter()
        asyncio.run(bare_turns())
        return (time.perf_counter() - began) / TURNS * 1e3

    few, many, reference = in_turn(RUNS, lambda: looped(TURNS), lambda: looped(TURNS * 5), bare)
    than = "a bare task and an append"
    report(f"a turn with a call that does nothing, of {TURNS}", few, reference, unit="ms", than=than, goal="≤ 1 ms")
    report(f"the same, of {TURNS * 5}", many, few, unit="ms", than=f"of {TURNS}", goal="≤ 1 ms")


class Stopwatch:
    """Subscriber that records the duration of calls and the time from a result to the next request."""

    def __init__(self) -> None:
        self.calls: list[float] = []
        self.gaps: list[float] = []
        self._started = 0.0
        self._ended = 0.0

    def watch(self, event: Event) -> None:
        now = time.perf_counter()
        match event:
            case ToolExecutionStart():
                self._started = now
            case ToolExecutionEnd():
                self.calls.append(now - self._started)
                self._ended = now
            case RequestStart() if self._ended:
                self.gaps.append(now - self._ended)
            case _:
                pass


def reading(folder: Path) -> None:
    path = folder / "module.py"
    path.write_text("def answer():\n    return 42\n" * 30, encoding="utf-8")
    # The cache is off: a cached result is not a read.
    options = AgentOptions(
        workspace=Workspace(folder), limits=Limits(max_turns=0), execution=Execution(cache_entries=0)
    )
    watch = Stopwatch()

    def turns() -> float:
        model = model_of(AtOnce(TURNS, "read_file", '{"path": "module.py"}'))
        agent = Agent(model, builtin_tools(), options=options)
        agent.subscribe(watch.watch)
        began = time.perf_counter()
        asyncio.run(agent.prompt("go"))
        return (time.perf_counter() - began) / TURNS * 1e3

    def plain() -> float:
        began = time.perf_counter()
        for _ in range(TURNS):
            path.read_text(encoding="utf-8")
        return (time.perf_counter() - began) / TURNS * 1e3

    turn, bare = in_turn(3, turns, plain)
    read, gap = statistics.median(watch.calls) * 1e3, statistics.median(watch.gaps) * 1e3
    report("a turn with one read_file", turn, bare, unit="ms", than="a bare read_text", goal="≤ 1 ms")
    report("read_file, call to result", read, bare, unit="ms", than="a bare read_text", goal="≤ 0.3 ms")
    report("tool result to next request", gap, turn, unit="ms", than="the whole turn", goal="≤ 4 ms")


def editing(folder: Path, where: str) -> None:
    """Measure edits of a file through the whole pipeline; they are flushed to disk, as is the reference."""
    path = folder / "module.py"
    text = "".join(f"def answer_{number}():\n    return {number}\n\n\n" for number in range(60))
    path.write_text(text, encoding="utf-8")
    workspace = Workspace(folder)
    options = AgentOptions(workspace=workspace, limits=Limits(max_turns=0), approval="off")
    texts = ("def answer_30():\\n    return 30", "def answer_30():\\n    return 31")
    edits = [
        f'{{"path": "module.py", "old_string": "{old}", "new_string": "{new}"}}' for old, new in (texts, texts[::-1])
    ]
    watch = Stopwatch()

    def turns() -> float:
        path.write_text(text, encoding="utf-8")
        asyncio.run(workspace.read("module.py"))
        agent = Agent(model_of(AtOnce(TURNS, "edit_file", *edits)), builtin_tools(), options=options)
        agent.subscribe(watch.watch)
        asyncio.run(agent.prompt("go"))
        return statistics.median(watch.calls) * 1e3

    def plain() -> float:
        """Return the time of a bare edit. It waits as long as a turn takes: a disk that is busy answers sooner."""
        times: list[float] = []
        for number in range(TURNS):
            began = time.perf_counter()
            while time.perf_counter() < began + TURN_S:
                pass
            began = time.perf_counter()
            new = path.read_text(encoding="utf-8").replace("return 30", f"return 3{number % 2}")
            with (folder / "temporary").open("w", encoding="utf-8") as file:
                file.write(new)
                file.flush()
                os.fsync(file.fileno())
            (folder / "temporary").replace(path)
            times.append(time.perf_counter() - began)
        return statistics.median(times) * 1e3

    edit, bare = in_turn(3, turns, plain)
    than = "a bare read, replacement, flush and rename"
    report(f"edit_file {where}, call to result", edit, bare, unit="ms", than=than, goal="≤ 1 ms")


if __name__ == "__main__":
    construction()
    with tempfile.TemporaryDirectory() as name:
        overhead(Path(name))
        reading(Path(name))
        editing(Path(name), "on disk")
    memory = Path("/dev/shm")
    if memory.is_dir():
        with tempfile.TemporaryDirectory(dir=memory) as name:
            editing(Path(name), "in memory")
