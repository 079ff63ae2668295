"""Cost of building the context of a turn in a long conversation, in CPU time, and the memory that it takes."""

from __future__ import annotations

import asyncio
import statistics
import sys
import time
import tracemalloc
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT), str(ROOT / "benchmarks")]

from measure import report  # noqa: E402  the path comes first
from msgspec.structs import replace  # noqa: E402

from harness.agent.agent import Agent  # noqa: E402
from harness.agent.options import AgentOptions  # noqa: E402
from harness.agent.run_state import Run, RunRequest  # noqa: E402
from harness.context.pipeline import BuiltContext, build_context  # noqa: E402
from harness.context.policy import NO_STAGES, ContextPolicy  # noqa: E402
from harness.events import CompactionTrigger  # noqa: E402
from harness.messages import AssistantMessage, Message, Text, ToolCall, ToolResult, user  # noqa: E402
from harness.ports.provider import ModelInfo, StaticModelInfo  # noqa: E402
from providers.demo import scripted  # noqa: E402
from tools import builtin_tools  # noqa: E402

TURNS = 9


class Measured(Agent):
    """Agent whose run can be built without starting it."""

    def run_for_measuring(self) -> Run:
        return self._new_run(RunRequest())


def turn(number: int, chars: int) -> list[Message]:
    """Return a reply that reads a file, with a result of this length."""
    call = ToolCall(f"c{number}", "read_file", {"path": f"src/file{number}.py", "offset": number, "limit": 200})
    reply = AssistantMessage((Text(f"Next is file {number}."), call), "m", "demo", stop_reason="tool_use")
    return [reply, ToolResult(call.id, call.name, (Text("x" * chars),))]


def conversation(count: int, chars: int) -> list[Message]:
    turns = (message for number in range(count // 2) for message in turn(number, chars))
    return [user("Fix the parser."), *turns]


async def keep(trigger: CompactionTrigger) -> None:
    """Compact nothing."""


async def builds(agent: Measured, chars: int) -> tuple[list[float], BuiltContext]:
    """Return the milliseconds of each build, a turn apart, and the last context."""
    run, model = agent.run_for_measuring(), agent.state.model
    times: list[float] = []
    built = BuiltContext()
    for number in range(TURNS):
        began = time.process_time()
        built = await build_context(run, model, keep)
        times.append((time.process_time() - began) * 1e3)
        for message in turn(100_000 + number, chars):
            agent.history.append(message)
    return times, built


def agent_with(count: int, chars: int, policy: ContextPolicy, window: int = 200_000) -> Measured:
    options = AgentOptions(messages=conversation(count, chars), window=policy)
    model = replace(scripted("x"), info=StaticModelInfo(ModelInfo(context_window=window)))
    return Measured(model, builtin_tools(), "You help. " * 200, options)


async def main() -> None:
    copying = agent_with(2_000, 200, NO_STAGES)
    began = time.perf_counter()
    for _ in range(100):
        tuple(copying.history.messages)
    copy = (time.perf_counter() - began) * 10
    times, _ = await builds(copying, 200)
    report("nothing to do", statistics.median(times[1:]), copy, unit="ms", than="a copy of the list", goal="≤ 5 ms")
    report("first build after a start", times[0], copy, unit="ms", than="a copy of the list", goal="≤ 30 ms")
    times, _ = await builds(agent_with(2_000, 600, ContextPolicy()), 600)
    report("eviction", times[0], copy, unit="ms", than="a copy of the list", goal="≤ 30 ms")
    times, _ = await builds(agent_with(2_000, 2_000, NO_STAGES), 2_000)
    report("trimming, each turn", statistics.median(times), copy, unit="ms", than="a copy of the list", goal="≤ 30 ms")

    agent = agent_with(10_000, 200, NO_STAGES, window=10_000_000)
    tracemalloc.start()
    before = tracemalloc.get_traced_memory()[0]
    _, built = await builds(agent, 200)
    held = (tracemalloc.get_traced_memory()[0] - before) / 1e6
    print(f"memory of the context of {len(built.messages):,} messages beside the history: {held:.1f} MB")


if __name__ == "__main__":
    asyncio.run(main())
