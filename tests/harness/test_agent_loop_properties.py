from __future__ import annotations

import asyncio
import logging
import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from fakes.invariants import check_all
from fakes.virtual_time import VirtualLoop
from fakes.whim_model import model_of
from fakes.whim_scripts import (
    BAD_CALLS,
    CALLS,
    FAILURES,
    PLAIN,
    RETRYABLE,
    STRAYS,
    WORDS,
    Script,
    scripts,
    spoken,
    twisted,
)
from fakes.whim_tools import WhimTool
from fakes.whims import RandomUser, Stage, WhimHooks, meddle
from hypothesis import HealthCheck, given, settings

from harness.agent.agent import Agent
from harness.agent.limits import Limits
from harness.agent.options import AgentOptions
from harness.approval.modes import Planning
from harness.context.policy import NO_STAGES
from harness.errors import AgentError
from harness.events import AgentEnd
from harness.messages import AssistantMessage, CustomMessage, Text
from harness.workspace.workspace import Workspace
from providers.demo import scripted

# `FUZZ=20000 make test ARGS=tests/harness/test_agent_loop_properties.py` runs that many random examples of each test.
FUZZ = int(os.environ.get("FUZZ", "0"))
EXAMPLES = settings(
    max_examples=FUZZ or 400,
    derandomize=not FUZZ,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture],
)
QUEUED = ("follow", "steer", "follow odd")


@pytest.fixture(autouse=True)
def _quiet() -> Iterator[None]:
    """Disable logging: expected failures are logged thousands of times."""
    logging.disable(logging.CRITICAL)
    yield
    logging.disable(logging.NOTSET)


def stage_for(script: Script, folder: Path) -> Stage:
    stage = Stage()
    stage.wire.replies = list(script.replies)
    stage.spare = WhimTool("peek", stage)
    options = AgentOptions(
        user=RandomUser(stage, script.answers),
        workspace=Workspace(folder),
        spill_dir=folder / "spill",
        limits=Limits(max_turns=8),
        planning=Planning(max_turns=2),
        hooks=(WhimHooks(stage, script.acts),) if script.acts else (),
    )
    tools = [stage.spare, WhimTool("poke", stage)]
    stage.agent = Agent(model_of(stage.wire), tools, "You help.", twisted(stage, options, script.twists))
    stage.agent.subscribe(stage.see)
    return stage


async def enter(stage: Stage, entry: str) -> None:
    agent = stage.agent
    kind, _, word = entry.partition(" ")
    match kind:
        case "prompt" | "queue":
            await agent.prompt(stage.prompt(word or "go"))
        case "messages":
            before = CustomMessage("mark", {"at": 1}), AssistantMessage((Text("as I said"),))
            await agent.prompt([*before, stage.prompt("go")])
        case "continue":
            await agent.continue_run()
        case "stream":
            assert [event async for event in agent.stream(stage.prompt("go"))]
        case "leave":
            await leave_early(stage)
        case _:
            raise ValueError(entry)


async def leave_early(stage: Stage) -> None:
    async with stage.agent.stream(stage.prompt("go")) as stream:
        for _ in range(9):
            await anext(stream, None)
    stage.aborted = True


async def one_run(stage: Stage, entry: str) -> None:
    stage.aborted = False
    heard = len(stage.events)
    for what in QUEUED if entry == "queue" else ():
        stage.do(what)
    stage.caller = asyncio.create_task(enter(stage, entry))
    await asyncio.wait([stage.caller])
    assert not stage.agent.is_running
    assert stage.wire.open == 0
    if not stage.caller.cancelled() and (error := stage.caller.exception()) is not None:
        assert isinstance(error, AgentError), error
    if entry != "continue" and any(isinstance(event, AgentEnd) and event.rejection for event in stage.events[heard:]):
        stage.handed_back.add(stage.prompts[-1])


async def perform(script: Script, folder: Path) -> None:
    stage = stage_for(script, folder)
    loop = asyncio.get_running_loop()
    assert isinstance(loop, VirtualLoop)
    loop.when_idle(stage.abort)
    leave_alone = meddle(stage, script.deeds)
    late = []
    stage.agent.subscribe(late.append)

    for entry in script.entries:
        await one_run(stage, entry)
    leave_alone()
    stage.over.set()
    await asyncio.sleep(10)

    assert asyncio.all_tasks() == {asyncio.current_task()}
    assert late == stage.events
    check_all(stage)
    await check_usable(stage.agent)


async def check_usable(agent: Agent) -> None:
    # A summary would take the only reply.
    agent.options = AgentOptions(user=agent.options.user, workspace=agent.options.workspace, window=NO_STAGES)
    agent.state.model = scripted("still here")
    result = await agent.prompt("and now?")
    assert (result.text, result.stop_reason) == ("still here", "stop")


def hold(script: Script, folder: Path) -> None:
    with asyncio.Runner(loop_factory=VirtualLoop) as runner:
        runner.run(perform(script, folder))


TOOLS = scripts(spoken([*CALLS, *PLAIN, *WORDS[:4]], most=6), answers=3)
MODELS = scripts(spoken([*FAILURES, *RETRYABLE * 4, *STRAYS, *WORDS * 2, *BAD_CALLS, *PLAIN, *PLAIN[:9] * 3]), twists=4)
PEOPLE = scripts(spoken([*PLAIN, *WORDS[:2]]), answers=5, acts=4, deeds=2, twists=3)
INTERRUPTIONS = scripts(spoken([*CALLS, *PLAIN, *WORDS, *RETRYABLE, *BAD_CALLS]), acts=1, deeds=5)


@EXAMPLES
@given(script=TOOLS)
def test_every_call_is_answered_for_any_tool_behaviour(tmp_path: Path, script: Script) -> None:
    hold(script, tmp_path)


@EXAMPLES
@given(script=MODELS)
def test_run_events_are_ordered_for_any_model_output(tmp_path: Path, script: Script) -> None:
    hold(script, tmp_path)


@EXAMPLES
@given(script=PEOPLE)
def test_nothing_runs_without_approval_for_any_user_and_hook_behaviour(tmp_path: Path, script: Script) -> None:
    hold(script, tmp_path)


@EXAMPLES
@given(script=INTERRUPTIONS)
def test_no_typed_message_is_lost_for_any_interruption(tmp_path: Path, script: Script) -> None:
    hold(script, tmp_path)
