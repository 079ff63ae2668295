"""Invariants of the context under any sequence of turns, changes of the context, rewinds, forks and resumes."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable
from contextlib import suppress
from pathlib import Path

import pytest
from fakes.invariants import check_request
from fakes.simple_tools import SimpleTool
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from harness.agent.agent import Agent
from harness.agent.options import AgentOptions
from harness.agent.retry import RetryPolicy
from harness.context.history import is_prompt
from harness.context.policy import NO_STAGES, ContextPolicy
from harness.errors import ContextWindowOverflow, ProviderError, SummaryFailed
from harness.events import (
    CompactionEnd,
    CompactionUndone,
    ContextEdited,
    ContextTrimmed,
    Event,
    Evicted,
    ModelChanged,
)
from harness.messages import CustomMessage, Message, ModelSpec, Usage, new_id
from harness.ports.provider import Model, ModelInfo, Request, StaticModelInfo
from harness.ports.session_store import InMemorySessionStore
from harness.ports.tool import ToolOutput
from harness.session.fork import fork_session
from harness.workspace.workspace import Workspace
from providers.demo import Break, Call, DemoProvider, Reply, Say

POLICIES = (
    ContextPolicy(keep_recent=4, compact_cooldown=1),
    ContextPolicy(reserve=0, evict_min_age=1, evict_to=0.4, keep_first=0, keep_recent=2),
    ContextPolicy(evict_at=0, keep_first=2, keep_recent=6, compact_at=0.7, tool_output_lines=3),
    ContextPolicy(compact_at=0, keep_recent=3),
    replace(NO_STAGES, window=3_000),
)
CHANGES = (CompactionEnd, CompactionUndone, ContextEdited, ContextTrimmed, Evicted, ModelChanged)
"""Events that may change the beginning of the next request."""

NAMES = [
    "compact",
    "undo",
    "edit",
    "pin",
    "unpin",
    "drop",
    "restore",
    "switch",
    "rewind",
    "fork",
    "resume",
    "overflow",
    "fail",
]
STEPS = st.lists(
    st.tuples(
        st.sampled_from(["turns", "turns", "turns", *NAMES]),
        st.integers(0, 50),
    ),
    min_size=4,
    max_size=16,
)


class Stage:
    """An agent in a store, whose model counts tokens in its own way and may fail."""

    def __init__(self, folder: Path, policy: ContextPolicy) -> None:
        self.folder, self.policy = folder, policy
        self.store = InMemorySessionStore()
        self.calls_due, self.size = 0, 0
        self.failures: list[ProviderError] = []
        self.summaries = 0
        self.requests: list[Request] = []
        self.problems: list[AssertionError] = []
        self.has_changed = True
        self.agent = self._made()

    def _made(self) -> Agent:
        async def output(arguments: object, context: object) -> ToolOutput:
            return ToolOutput.text(f"{len(self.requests)}\n" * self.size)

        options = AgentOptions(
            workspace=Workspace(self.folder), window=self.policy, retry=RetryPolicy(max_retries=0), approval="off"
        )
        tools = [SimpleTool("read_file", output), SimpleTool("bash", output)]
        agent = Agent(self._model(6_000), tools, "You help.", options)
        agent.subscribe(self._see)
        return agent

    def _model(self, window: int) -> Model:
        info = StaticModelInfo(ModelInfo(context_window=window))
        return Model(DemoProvider(self._reply), ModelSpec("demo", f"m{window}"), info)

    def _see(self, event: Event) -> None:
        self.has_changed = self.has_changed or isinstance(event, CHANGES)

    def _reply(self, request: Request) -> Reply:
        try:
            check_request(request)
            if request.tools and not self.failures:
                self._check_prefix(request)
        except AssertionError as problem:
            # The agent takes any exception for a failed request.
            self.problems.append(problem)
            raise
        if self.failures:
            return Reply((Break(self.failures.pop()),))
        if not request.tools:
            self.summaries += 1
            return Reply((Say(f"## Decided\nSummary number {self.summaries}: everything stays as it was."),))
        read = sum(len(str(each.content)) for each in request.messages) // 3
        usage = Usage(input=read, output=12)
        if not self.calls_due:
            return Reply((Say("Done with this step."),), usage=usage)
        self.calls_due -= 1
        path = f"src/{self.calls_due % 3}.py"
        calls = Call("read_file", {"path": path}), Call("bash", {"command": f"cat {path}"})
        return Reply((Say("Next I read."), *calls[: 1 + self.calls_due % 2]), usage=usage)

    def _check_prefix(self, request: Request) -> None:
        if self.requests and not self.has_changed:
            before = [each.content for each in self.requests[-1].messages]
            now = [each.content for each in request.messages]
            assert now[: len(before)] == before
        self.has_changed = False
        self.requests.append(request)

    async def perform(self, step: str, number: int) -> None:
        before = list(self.agent.messages)
        await getattr(self, step)(number)
        for problem in self.problems:
            raise problem
        if step not in ("rewind", "fork", "resume"):
            assert list(self.agent.messages[: len(before)]) == before

    async def turns(self, number: int) -> None:
        self.calls_due, self.size = number % 7, 40 + 9 * number
        await self.agent.prompt(f"Step {number}. " + "Be careful. " * (number % 9))

    async def compact(self, number: int) -> None:
        with suppress(ProviderError, SummaryFailed):
            await self.agent.compact(focus="" if number % 2 else "paths")
        assert not self.agent.is_running

    async def undo(self, number: int) -> None:
        before = len(self.agent.state.context.overlay.compactions)
        assert self.agent.undo_compaction() == (before > 0)

    async def edit(self, number: int) -> None:
        if self.agent.state.context.overlay.compactions:
            self.agent.replace_summary(f"Edited by hand, number {number}.")

    async def pin(self, number: int) -> None:
        self._at(number, self.agent.pin)

    async def unpin(self, number: int) -> None:
        self._at(number, self.agent.unpin)

    async def drop(self, number: int) -> None:
        self._at(number, self.agent.drop)

    async def restore(self, number: int) -> None:
        self._at(number, self.agent.restore)

    def _at(self, number: int, change: Callable[[str], None]) -> None:
        if messages := self.agent.messages:
            change(messages[number % len(messages)].id)

    async def switch(self, number: int) -> None:
        self.agent.set_model(self._model((6_000, 3_000, 12_000)[number % 3]))

    async def overflow(self, number: int) -> None:
        self.failures = [ContextWindowOverflow("too long")] * (1 + number % 2)
        await self.turns(number)
        self.failures = []

    async def fail(self, number: int) -> None:
        self.failures = [ProviderError("no")] * (number % 5)
        await self.turns(number)
        self.failures = []

    async def rewind(self, number: int) -> None:
        """Continue before a prompt, in another session."""
        messages = self.agent.messages
        prompts = [at for at, each in enumerate(messages) if is_prompt(each)]
        if prompts:
            kept = messages[: prompts[number % len(prompts)]]
            self.agent.new_session(messages=kept)
            self.has_changed = True
            await self.agent.open_session(self.store)
            assert self.agent.messages == kept

    async def fork(self, number: int) -> None:
        """Continue a copy in another agent; then continue the copy or the original."""
        if not self.agent.messages:
            return
        original, requests, has_changed = self.agent, list(self.requests), self.has_changed
        before = alike(original.context_messages)
        self.agent = await self._copy_of(original)
        assert [content for _, content in alike(self.agent.context_messages)] == [content for _, content in before]
        assert self.agent.state.cache_key == (original.state.cache_key or original.session_id)
        await self.turns(number)
        assert alike(original.context_messages) == before
        if number % 2:
            await self.agent.close()
            self.agent, self.requests, self.has_changed = original, requests, has_changed

    async def _copy_of(self, agent: Agent) -> Agent:
        await agent._bus.flush()
        path = self.folder / f"{agent.session_id}.jsonl"
        path.write_bytes(await self.store.read(agent.session_id))
        copy = fork_session(path, new_id())
        await self.store.append(copy.stem, copy.read_bytes())
        made = self._made()
        assert await made.open_session(self.store, copy.stem)
        return made

    async def resume(self, number: int) -> None:
        """Continue in another agent, which sends the same messages."""
        old = self.agent
        await old.close()
        self.agent = self._made()
        assert await self.agent.open_session(self.store, old.session_id) == bool(old.messages)
        assert alike(self.agent.context_messages) == alike(old.context_messages)


def alike(messages: Iterable[Message]) -> list[tuple[str, object]]:
    """Return ids and contents of the messages that a request would contain."""
    shown = (each for each in messages if not isinstance(each, CustomMessage) and each.content)
    return [(each.id, each.content) for each in shown]


@settings(max_examples=60, deadline=None)
@given(policy=st.sampled_from(POLICIES), steps=STEPS)
def test_pairs_prefix_and_history_hold_under_any_sequence(
    tmp_path_factory: pytest.TempPathFactory, policy: ContextPolicy, steps: list[tuple[str, int]]
):
    async def perform() -> None:
        stage = Stage(folder, policy)
        await stage.agent.open_session(stage.store)
        for step, number in steps:
            await stage.perform(step, number)
        await stage.agent.prompt("the end")
        assert stage.requests

    folder = tmp_path_factory.mktemp("place")
    asyncio.run(perform())
