"""Context policies compared: tokens sent, tokens a prefix cache serves, cost, facts that survive, overflows.

Twelve recorded-style sessions are replayed through the real agent and the built-in tools in a copy of this project. The
model is scripted: it counts tokens by its own measure, which differs from the estimate of the harness, keeps the cache
that services keep (the longest beginning of a request that an earlier one had), and rejects what exceeds its window.
Asked for a summary, it keeps the decisions and findings it is shown, and nothing else.
"""

from __future__ import annotations

import asyncio
import json
import re
import shutil
import sys
import tempfile
from collections.abc import AsyncIterator, Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT), str(ROOT / "benchmarks")]

from context_sessions import SESSIONS, Session, Turn, record  # noqa: E402  the path comes first

from harness.agent.agent import Agent  # noqa: E402
from harness.agent.limits import Limits  # noqa: E402
from harness.agent.options import AgentOptions  # noqa: E402
from harness.agent.presets import preset, preset_names  # noqa: E402
from harness.context.policy import NO_STAGES, ContextPolicy  # noqa: E402
from harness.deltas import BlockDelta, BlockEnd, BlockStart, Delta, Done  # noqa: E402
from harness.errors import ContextWindowOverflow  # noqa: E402
from harness.messages import JsonObject, Message, ModelSpec, Text, ToolCall, ToolResult, Usage, UserMessage  # noqa: E402
from harness.ports.provider import Model, ModelInfo, Price, Request, StaticModelInfo  # noqa: E402
from harness.ports.tool import Tool  # noqa: E402
from harness.risk import Risk  # noqa: E402
from harness.workspace.workspace import Workspace  # noqa: E402
from tools.builtin import CLASSES, LazyTool, ToolOptions  # noqa: E402

WINDOW = 200_000
PRICE = Price(input=3.0, output=15.0, cache_read=0.3, cache_write=3.75)
"""List price of Claude Sonnet in dollars per million tokens, November 2026."""
CHARS_PER_TOKEN = 3.6
MAX_OUTPUT = 16_384
PROJECT = ("harness", "tools")
SYSTEM = "You are a coding agent. " * 200
_KEPT = re.compile(r"(?:Decision|Finding): [^\n\"\\]+")


class Policy(Struct, frozen=True):
    """A context policy to compare."""

    name: str
    window: ContextPolicy
    is_lean: bool = False
    """True to refer to results that the model still has, and to compress command output."""


class Score(Struct):
    """Figures of one or more sessions."""

    uncached: int = 0
    cached: int = 0
    output: int = 0
    overflows: int = 0
    summaries: int = 0
    demands: int = 0
    decisions: int = 0
    findings: int = 0
    planted: tuple[int, int, int] = (0, 0, 0)

    @property
    def cost(self) -> float:
        paid = self.uncached * PRICE.cache_write + self.cached * PRICE.cache_read + self.output * PRICE.output
        return paid / 1_000_000

    def __add__(self, other: Score) -> Score:
        fields = {name: getattr(self, name) + getattr(other, name) for name in Score.__struct_fields__[:-1]}
        return Score(**fields, planted=tuple(map(sum, zip(self.planted, other.planted, strict=True))))  # pyright: ignore[reportArgumentType]


def policies() -> Iterator[Policy]:
    yield Policy("cinch's default", ContextPolicy(), is_lean=True)
    yield Policy("nothing until overflow", NO_STAGES)
    for name in preset_names():
        yield Policy(f"numbers of {name}", preset(name).window)


class RecordedModel:
    """Provider that replies with the turns of a session."""

    name = "recorded"

    def __init__(self) -> None:
        self.turns: list[Turn] = []
        self.score = Score()
        self.last = ""
        self._cache: set[int] = set()
        self._texts: dict[int, tuple[Message, str]] = {}

    async def stream(self, request: Request) -> AsyncIterator[Delta]:
        parts = [json.dumps([(tool.name, tool.description, tool.parameters) for tool in request.tools]), request.system]
        parts += map(self._text, request.messages)
        usage = self._count(parts)
        if is_summary(request):
            self.score.summaries += 1
            text = "\n".join(dict.fromkeys(_KEPT.findall("\n".join(parts).replace("\\n", "\n"))))
            turn = Turn(f"State of the work:\n{text[-6_000:]}")
        else:
            turn = self.turns.pop(0)
            self.last = "\n".join([*parts, turn.text])
        for index, delta in enumerate(_deltas(turn)):
            for each in delta(index):
                yield each
        output = int(len(turn.text + json.dumps([call.arguments for call in turn.calls])) / CHARS_PER_TOKEN) + 8
        self.score.output += output
        yield Done("tool_use" if turn.calls else "stop", replace(usage, output=output))

    async def close(self) -> None:
        pass

    def _count(self, parts: list[str]) -> Usage:
        """Return the tokens of a request, of which the cache serves the longest known beginning."""
        sizes = [int(len(part) / CHARS_PER_TOKEN) + 4 for part in parts]
        if sum(sizes) > WINDOW - MAX_OUTPUT:
            self.score.overflows += 1
            raise ContextWindowOverflow(f"prompt is too long: {sum(sizes)} tokens > {WINDOW - MAX_OUTPUT} maximum")
        cached, chain, is_known = 0, 0, True
        for part, size in zip(parts, sizes, strict=True):
            chain = hash((chain, part))
            is_known = is_known and chain in self._cache
            cached += size if is_known else 0
            self._cache.add(chain)
        self.score.cached += cached
        self.score.uncached += sum(sizes) - cached
        return Usage(cache_read=cached, cache_write=sum(sizes) - cached)

    def _text(self, message: Message) -> str:
        known = self._texts.get(id(message))
        if known is None or known[0] is not message:
            known = self._texts[id(message)] = (message, _wire_text(message))
        return known[1]


def is_summary(request: Request) -> bool:
    """Return True for a request of the harness for a summary."""
    last = request.messages[-1]
    return not request.tools or (isinstance(last, UserMessage) and "the summary that replaces" in last.text)


def _wire_text(message: Message) -> str:
    blocks: list[object] = []
    for block in getattr(message, "content", ()):
        if isinstance(block, Text):
            blocks.append(block.text)
        elif isinstance(block, ToolCall):
            blocks.append([block.id, block.name, block.arguments])
    call = message.call_id if isinstance(message, ToolResult) else ""
    return json.dumps([type(message).__name__, call, blocks])


def _deltas(turn: Turn) -> Iterator[Callable[[int], Iterator[Delta]]]:
    def text(index: int) -> Iterator[Delta]:
        yield BlockStart(index, "text")
        yield BlockDelta(index, turn.text)
        yield BlockEnd(index)

    if turn.text:
        yield text
    for call in turn.calls:

        def called(index: int, name: str = call.tool, arguments: object = call.arguments) -> Iterator[Delta]:
            yield BlockStart(index, "tool_call", call_id=f"call_{id(arguments):x}", name=name)
            yield BlockDelta(index, json.dumps(arguments))
            yield BlockEnd(index)

        yield called


class CompleteResults(LazyTool):
    """Built-in tool whose results are sent again each time."""

    def risk(self, arguments: JsonObject) -> Risk:
        return replace(super().risk(arguments), cacheable=False)


def built_in(*, is_lean: bool) -> list[Tool]:
    names = ("read_file", "edit_file", "grep", "bash")
    if is_lean:
        return [LazyTool(name) for name in CLASSES if name in names]
    return [CompleteResults(name, ToolOptions(compression="off")) for name in CLASSES if name in names]


async def replay(session: Session, policy: Policy, project: Path) -> Score:
    """Return the figures of a session under a policy."""
    provider = RecordedModel()
    facts = StaticModelInfo(ModelInfo(context_window=WINDOW, max_output=MAX_OUTPUT, price=PRICE))
    model = Model(provider, ModelSpec("recorded", "recorded"), facts)
    options = AgentOptions(
        window=policy.window, approval="off", limits=Limits(max_turns=0), workspace=Workspace(project)
    )
    async with Agent(model, built_in(is_lean=policy.is_lean), SYSTEM, options) as agent:
        for task in session.tasks:
            provider.turns = list(task.turns)
            result = await agent.prompt(task.prompt)
            if provider.turns or result.stop_reason != "stop":
                sys.exit(f"{policy.name}, {session.name}: the session was not replayed: {result.error}")
    score = provider.score
    score.demands = _present(session.demands, provider.last)
    score.decisions = _present(session.decisions, provider.last)
    score.findings = _present(session.findings, provider.last)
    score.planted = (len(session.demands), len(session.decisions), len(session.findings))
    return score


def _present(words: tuple[str, ...], text: str) -> int:
    return sum(word in text for word in words)


def replayed(name: str, turns: int, policy: Policy) -> Score:
    with tempfile.TemporaryDirectory() as folder:
        project = Path(folder)
        for each in PROJECT:
            shutil.copytree(ROOT / each, project / each, ignore=shutil.ignore_patterns("__pycache__"))
        session = record(name, turns, project)
        return asyncio.run(replay(session, policy, project))


def main() -> None:
    names = set(sys.argv[1:])
    chosen = [policy for policy in policies() if not names or policy.name in names]
    columns = ("policy", "uncached", "cached", "cost", "demands", "decisions", "findings", "overflows", "summaries")
    print(f"| {' | '.join(columns)} |\n|{' --- |' * len(columns)}")
    with ProcessPoolExecutor() as pool:
        scores = [[pool.submit(replayed, *session, policy) for session in SESSIONS] for policy in chosen]
        first: Score | None = None
        for policy, each in zip(chosen, scores, strict=True):
            total = sum((score.result() for score in each), Score())
            first = first or total
            print(f"| {' | '.join((policy.name, *_cells(total, first)))} |", flush=True)


def _cells(total: Score, first: Score) -> Iterator[str]:
    yield f"{total.uncached / 1e6:.2f} M ({total.uncached / first.uncached:.2f})"
    yield f"{total.cached / 1e6:.1f} M"
    yield f"${total.cost:.2f}"
    for kept, planted in zip((total.demands, total.decisions, total.findings), total.planted, strict=True):
        yield f"{kept}/{planted}"
    yield from (str(total.overflows), str(total.summaries))


if __name__ == "__main__":
    main()
