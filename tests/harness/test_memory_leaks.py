from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from pathlib import Path

import pytest
from fakes.leftovers import SLEEP, Held, held, model_server

from harness.agent.agent import Agent
from harness.agent.options import AgentOptions
from harness.agent.retry import RetryPolicy
from harness.events import Event, MessageUpdate, ToolExecutionStart, ToolExecutionUpdate
from harness.execution.context import Execution
from harness.workspace.workspace import Workspace
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
    """How a run ends: what the service answers in it, how it ends for the agent, and what is done meanwhile.

    `connections`: how many are kept for the next request.
    """

    name: str
    script: list[dict[str, object]]
    stop_reason: str
    meddle: Callable[[Agent, Event], None] = lambda agent, event: None
    execution: Execution = Execution()
    connections: int = 1


def steer(agent: Agent, event: Event) -> None:
    if isinstance(event, ToolExecutionUpdate) and not agent.inbox.steering:
        agent.steer("leave that")
        agent.interrupt()


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
    Way("cut in a sentence", [{"type": "cut", "reply": {"text": "so far"}, "after_events": 2}], "error", connections=0),
    Way("broken in its format", [TELLS], "error"),
    Way("timed out in a command", [LONG_COMMAND, DONE], "stop", execution=Execution(timeout=0.15)),
    Way("steered out of a command", [LONG_COMMAND, DONE], "stop", steer),
    Way("aborted in a sentence", [SLOW_STORY], "aborted", abort_in_a_sentence, connections=0),
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


def held_beyond(before: Held) -> Held:
    """Return what is held now and was not before. Asyncio keeps the threads that read files."""
    now = held()
    differences = (getattr(now, each.name) - getattr(before, each.name) for each in fields(Held))
    return replace(Held(*differences), threads=0)


async def settled(before: Held, expected: Held) -> Held:
    """Return what is held once it is no more than expected, or after a second: a socket takes a moment to close."""
    for _ in range(100):
        if held_beyond(before) == expected:
            break
        await asyncio.sleep(0.01)
    return held_beyond(before)


@pytest.mark.parametrize("way", WAYS, ids=lambda way: way.name)
async def test_run_with_this_ending_leaves_nothing_behind(way: Way, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("OPENAI_API_KEY", "none")
    # Each delta yields to the rest of the program, so that an abort also arrives while the stream itself is idle.
    monkeypatch.setattr("harness.agent.model_call.YIELD_INTERVAL_S", -1.0)
    nothing = Held(tasks=0, threads=0, commands=0, sockets=0, files=0)

    with model_server(tmp_path, json.dumps(way.script)) as base_url:
        before = held()
        agent = agent_for(way, base_url, tmp_path)
        ends: list[str] = []
        tasks: list[int] = []
        for _ in range(4):
            async with asyncio.timeout(10):
                ends.append((await agent.prompt("go")).stop_reason)
            tasks.append(held_beyond(before).tasks)
        kept = replace(nothing, sockets=way.connections, files=way.connections)
        between = await settled(before, kept)
        await agent.close()
        after = await settled(before, nothing)

    assert ends == [way.stop_reason] * 4
    assert tasks == [0] * 4
    assert between == kept
    assert after == nothing


@pytest.mark.parametrize("way", [WAYS[0], WAYS[5], WAYS[6]], ids=lambda way: way.name)
def test_prompt_sync_leaves_no_thread(way: Way, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("OPENAI_API_KEY", "none")
    before = held()

    with model_server(tmp_path, json.dumps(way.script)) as base_url:
        result = agent_for(way, base_url, tmp_path).prompt_sync("go")

    assert result.stop_reason == way.stop_reason
    assert held() == before
