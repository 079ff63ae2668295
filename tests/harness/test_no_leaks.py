from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

import pytest
from fakes.leftovers import SLEEP, held, model_server

from harness.agent import Agent
from harness.events import Event, MessageUpdate, ToolExecutionStart, ToolExecutionUpdate
from harness.options import AgentOptions, Execution
from harness.retry import RetryPolicy
from harness.workspace import Workspace
from providers import connect
from tools import builtin_tools

LONG_COMMAND = {"text": "I wait.", "calls": [["bash", {"command": SLEEP}]]}
DONE = {"text": "Done."}
MANY_READS = {
    "calls": [["read_file", {"path": "script.json"}], ["list_files", {"path": "."}], ["grep", {"pattern": "x"}]]
}
TELLS = {"type": "raw", "body": 'data: {"choices": [{"index": 0, "delta": {"content": "so'}
SLOW_STORY = {"type": "hang", "reply": {"text": "Once upon a time there was"}, "after_events": 5}


@dataclass(frozen=True)
class Way:
    """How a run ends: what the service answers in it, how it ends for the agent, and what is done meanwhile."""

    name: str
    script: list[dict[str, object]]
    stop_reason: str
    meddle: Callable[[Agent, Event], None] = lambda agent, event: None
    execution: Execution = Execution()


def steer(agent: Agent, event: Event) -> None:
    if isinstance(event, ToolExecutionUpdate) and not agent.inbox.steering:
        agent.steer("leave that")


def abort_at_the_start_of_a_call(agent: Agent, event: Event) -> None:
    if isinstance(event, ToolExecutionStart):
        agent.abort()


def abort_in_a_sentence(agent: Agent, event: Event) -> None:
    if isinstance(event, MessageUpdate):
        agent.abort()


WAYS = [
    Way("finished", [MANY_READS, DONE], "stop"),
    Way("refused", [{"type": "failure", "status": 400, "body": "no"}], "error"),
    Way("asked again in vain", [{"type": "failure", "status": 529, "body": "busy"}], "error"),
    Way("cut in a sentence", [{"type": "cut", "reply": {"text": "so far"}, "after_events": 2}], "error"),
    Way("broken in its format", [TELLS], "error"),
    Way("timed out in a command", [LONG_COMMAND, DONE], "stop", execution=Execution(timeout=0.15)),
    Way("steered out of a command", [LONG_COMMAND, DONE], "stop", steer),
    Way("aborted in a sentence", [SLOW_STORY], "aborted", abort_in_a_sentence),
    Way("aborted at the start of a command", [LONG_COMMAND], "aborted", abort_at_the_start_of_a_call),
]


def agent_for(way: Way, base_url: str, folder: Path) -> Agent:
    options = AgentOptions(
        workspace=Workspace(folder),
        approval="off",
        execution=way.execution,
        retry=RetryPolicy(max_retries=1, initial=0.0, max_delay=0.0),
        spill_dir=folder / "spill",
    )
    agent = Agent(connect("openai-chat/m", base_url=base_url), builtin_tools(), options=options)
    agent.subscribe(lambda event: way.meddle(agent, event))
    return agent


async def settled(before: object) -> object:
    """What is held once it is what was held before, or a second has passed: a socket takes a moment to close."""
    for _ in range(100):
        if replace(held(), threads=0) == before:
            break
        await asyncio.sleep(0.01)
    return replace(held(), threads=0)


@pytest.mark.parametrize("way", WAYS, ids=lambda way: way.name)
async def test_a_run_that_ends_so_leaves_nothing_behind(way: Way, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("OPENAI_API_KEY", "none")
    outside = replace(held(), threads=0)

    with model_server(tmp_path, json.dumps(way.script)) as base_url:
        pipe = replace(held(), threads=0).files - outside.files
        agent = agent_for(way, base_url, tmp_path)
        ends = [(await agent.prompt("go")).stop_reason]
        one_run = replace(held(), threads=0)
        ends += [(await agent.prompt("go")).stop_reason for _ in range(3)]
        after = await settled(one_run)
        await agent.close()
        closed = await settled(replace(outside, files=outside.files + pipe))

    assert ends == [way.stop_reason] * 4
    assert after == one_run
    assert (after.tasks, after.commands) == (outside.tasks, 0)
    assert closed == replace(outside, files=outside.files + pipe)


@pytest.mark.parametrize("way", [WAYS[0], WAYS[5], WAYS[6]], ids=lambda way: way.name)
def test_a_run_that_is_waited_for_leaves_no_thread(way: Way, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("OPENAI_API_KEY", "none")
    before = held()

    with model_server(tmp_path, json.dumps(way.script)) as base_url:
        result = agent_for(way, base_url, tmp_path).prompt_sync("go")

    assert result.stop_reason == way.stop_reason
    assert held() == before
