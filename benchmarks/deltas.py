"""Streamed text through bus, session file and a listener: at 2,000 deltas per second and unthrottled."""

from __future__ import annotations

import asyncio
import statistics
import sys
import tempfile
import time
from collections.abc import AsyncIterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT), str(ROOT / "tests"), str(ROOT / "benchmarks")]

from fakes.simple_tools import SimpleTool  # noqa: E402  the path comes first
from measure import memory, report  # noqa: E402

from harness.agent.agent import Agent  # noqa: E402
from harness.agent.limits import Limits  # noqa: E402
from harness.agent.options import AgentOptions  # noqa: E402
from harness.deltas import BlockDelta, BlockEnd, BlockStart, Delta, Done  # noqa: E402
from harness.events import AgentEnd, MessageUpdate  # noqa: E402
from harness.messages import ModelSpec, Usage  # noqa: E402
from harness.ports.provider import Model, Request, StaticModelInfo  # noqa: E402
from harness.session.recorder import SessionRecorder  # noqa: E402
from harness.workspace.workspace import Workspace  # noqa: E402

RATE = 2_000
SECONDS = 20
A_REPLY = 400
"""Deltas per reply; each reply but the last calls a tool."""

BURST = 10
"""Deltas sent together, as in a network packet: timers have a resolution of one millisecond."""


class Streamer:
    """Provider that streams `deltas` at `rate` per second (0: unthrottled), and records the times."""

    name = "streamer"

    def __init__(self, deltas: int, rate: int) -> None:
        self.sent: list[float] = []
        self._deltas = deltas
        self._rate = rate
        self._began = time.perf_counter()

    async def stream(self, request: Request) -> AsyncIterator[Delta]:
        yield BlockStart(0, "text")
        for _ in range(A_REPLY):
            if self._rate and len(self.sent) % BURST == 0:
                due = self._began + len(self.sent) / self._rate
                await asyncio.sleep(max(0.0, due - time.perf_counter()))
            self.sent.append(time.perf_counter())
            yield BlockDelta(0, "a word ")
        yield BlockEnd(0)
        usage = Usage(input=len(request.messages) * 400, output=A_REPLY)
        if len(self.sent) < self._deltas:
            yield BlockStart(1, "tool_call", f"call_{len(self.sent)}", "nothing")
            yield BlockEnd(1)
            yield Done("tool_use", usage)
        else:
            yield Done("stop", usage)

    async def close(self) -> None:
        pass


async def listen(agent: Agent, received: list[float]) -> None:
    """Record the time when each delta is received."""
    with agent.listen(capacity=100_000) as events:
        async for event in events:
            match event:
                case MessageUpdate(delta=BlockDelta()):
                    received.append(time.perf_counter())
                case AgentEnd():
                    return
                case _:
                    pass


async def latencies(folder: Path, deltas: int, rate: int) -> list[float]:
    """Return the milliseconds from the provider to a listener, for each delta."""
    streamer = Streamer(deltas, rate)
    options = AgentOptions(workspace=Workspace(folder), limits=Limits(max_turns=0))
    model = Model(streamer, ModelSpec("streamer", "words"), StaticModelInfo())
    agent = Agent(model, [SimpleTool("nothing", risk="none")], options=options)
    store = SessionRecorder(folder / "data", folder, agent.session_id)
    agent.subscribe(store.store)
    received: list[float] = []
    async with asyncio.TaskGroup() as group:
        group.create_task(listen(agent, received))
        await asyncio.sleep(0)
        await agent.prompt("go")
    store.close()
    return [(there - here) * 1e3 for here, there in zip(streamer.sent, received, strict=True)]


def paced(folder: Path) -> None:
    cpu, began = time.process_time(), time.perf_counter()
    waits = asyncio.run(latencies(folder, RATE * SECONDS, RATE))
    took, busy = time.perf_counter() - began, time.process_time() - cpu
    print(f"{len(waits):,} deltas in {took:.1f} s ({len(waits) / took:,.0f} per second), {busy / took:.0%} of a core")
    tenth = len(waits) // 10
    for name, figure in (("median", statistics.median), ("95 %", lambda each: statistics.quantiles(each, n=20)[-1])):
        first, last = figure(waits[:tenth]), figure(waits[-tenth:])
        report(f"latency of the last tenth, {name}", last, first, unit="ms", than="of the first", goal="no growth")


def flat_out(folder: Path) -> None:
    deltas = 100_000

    async def bare_stream() -> None:
        streamer = Streamer(deltas, 0)
        while len(streamer.sent) < deltas:
            async for _ in streamer.stream(Request(ModelSpec("streamer", "words"), "", ())):
                pass

    began = time.perf_counter()
    asyncio.run(bare_stream())
    bare = (time.perf_counter() - began) / deltas * 1e6
    before, began = memory(), time.perf_counter()
    asyncio.run(latencies(folder, deltas, 0))
    each = (time.perf_counter() - began) / deltas * 1e6
    report("unthrottled, per delta", each, bare, unit="µs", than="the provider alone", goal="≤ 500 µs")
    print(f"  {1e6 / each:,.0f} deltas per second; memory grew by {memory() - before:.1f} MB")


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as name:
        paced(Path(name))
        flat_out(Path(name))
