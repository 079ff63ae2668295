"""Callbacks that are polled for steering and follow-up messages (PRD 12.2, 12.3)."""

from __future__ import annotations

import asyncio

import pytest
from fakes.family import cast, delegates
from fakes.runs import calls, results_of, texts_of
from fakes.simple_tools import SimpleTool, sleeper
from msgspec.structs import replace

from harness.agent.limits import Limits
from harness.errors import RequestRejected
from harness.events import Notice, SubagentEvent, TurnStart
from harness.messages import user
from harness.ports.hooks import Hooks, Stop
from harness.ports.tool import ToolOutput
from providers.demo import Break, Reply, Say
from tools.delegate import DelegateTool


class Source:
    """Callback, sync or async, that returns the ready messages; `polls` has the events published before each call."""

    def __init__(self, log, *, is_async=False):
        self.ready: list[str] = []
        self.polls: list[str] = []
        self._log = log
        self._is_async = is_async

    def __call__(self):
        self.polls.append(self._log[-1] if self._log else "")
        ready, self.ready = [user(text) for text in self.ready], []
        return self._later(ready) if self._is_async else ready

    async def _later(self, ready):
        await asyncio.sleep(0)
        return ready


def log_of(agent, log):
    agent.subscribe(lambda event: log.append(type(event).__name__))


@pytest.mark.parametrize("is_async", [False, True])
async def test_steering_callback_is_polled_after_each_tool_and_skips_the_remaining_calls(make_agent, is_async):
    log: list[str] = []
    steering = Source(log, is_async=is_async)

    async def quick(arguments, context):
        steering.ready.append("stop, explain first")
        return ToolOutput.text("done")

    tools = [SimpleTool("quick", quick), sleeper("slow", 30), SimpleTool("later", risk="edit")]
    agent = make_agent(calls("quick", "slow", "later"), "done", tools=tools, get_steering_messages=steering)
    log_of(agent, log)

    async with asyncio.timeout(10):
        result = await agent.prompt("go")

    quick_result, slow, later = results_of(agent)
    assert [each.is_error for each in (quick_result, slow, later)] == [False, True, True]
    # An async callback gives the slow call time to start.
    assert slow.text.startswith("[interrupted after" if is_async else "Skipped due to queued user message.")
    assert later.text == "Skipped due to queued user message."
    assert not tools[2].ran
    assert texts_of(agent) == ["go", "stop, explain first"]
    assert result.text == "done"
    assert steering.polls[0] == "ToolExecutionEnd"


async def test_steering_callback_is_polled_after_each_turn(make_agent):
    log: list[str] = []
    steering = Source(log)
    agent = make_agent(Reply((Say("first"),)), "second", get_steering_messages=steering)
    log_of(agent, log)
    agent.subscribe(
        lambda event: steering.ready.append("more") if isinstance(event, TurnStart) and event.turn == 1 else None
    )

    result = await agent.prompt("go")

    assert texts_of(agent) == ["go", "more"]
    assert result.text == "second"
    assert steering.polls == ["TurnEnd", "TurnEnd"]


@pytest.mark.parametrize("is_async", [False, True])
async def test_follow_up_callback_is_polled_when_the_run_would_end_and_continues_it(make_agent, is_async):
    log: list[str] = []
    follow_up = Source(log, is_async=is_async)
    follow_up.ready = ["then run the tests", "and commit"]
    agent = make_agent(
        calls("look"), "one", "two", "three", tools=[SimpleTool("look")], get_follow_up_messages=follow_up
    )
    log_of(agent, log)

    result = await agent.prompt("go")

    assert texts_of(agent) == ["go", "then run the tests", "and commit"]
    assert result.text == "three"
    assert follow_up.polls == ["TurnEnd", "TurnEnd"]


async def test_follow_ups_of_the_queue_come_before_the_callback_is_polled(make_agent):
    polls: list[int] = []
    agent = make_agent("one", "two")
    agent.options = replace(agent.options, get_follow_up_messages=lambda: polls.append(len(agent.messages)))
    agent.follow_up("queued")

    await agent.prompt("go")

    assert polls == [4]


class StopAfter(Hooks):
    async def after_turn(self, end):
        return Stop("enough")


@pytest.mark.parametrize(
    ("reply", "options"),
    [
        (Reply((Break(RequestRejected("no")),)), {}),
        (Reply((Say("so f"),), stop_reason="aborted"), {}),
        ("done", {"hooks": [StopAfter()]}),
    ],
)
async def test_callbacks_are_not_polled_after_an_error_an_abort_or_a_stop(make_agent, reply, options):
    polls: list[str] = []
    agent = make_agent(
        reply,
        "never",
        get_steering_messages=lambda: polls.append("steering"),
        get_follow_up_messages=lambda: polls.append("follow-up"),
        **options,
    )

    await agent.prompt("go")

    assert polls == []


async def test_follow_up_callback_is_not_polled_when_a_limit_ends_the_run(make_agent):
    polls: list[str] = []
    agent = make_agent(
        calls("look"),
        tools=[SimpleTool("look")],
        limits=Limits(max_turns=1),
        get_follow_up_messages=lambda: polls.append("follow-up"),
    )

    assert (await agent.prompt("go")).limit == "turns"
    assert polls == []


@pytest.mark.parametrize("given", [lambda: 1 / 0, lambda: [3], lambda: asyncio.sleep(0, 1 / 2)])
async def test_a_callback_that_fails_is_reported_and_the_run_continues(make_agent, record, given):
    agent = make_agent("done", get_follow_up_messages=given)
    seen = record(agent)

    result = await agent.prompt("go")

    assert (result.text, result.error) == ("done", None)
    assert [notice.level for notice in seen.of(Notice)] == ["error"]
    assert seen.of(Notice)[0].text.startswith("get_follow_up_messages failed: ")


async def test_abort_ends_a_waiting_callback(make_agent):
    waits = asyncio.Event()

    async def wait():
        waits.set()
        await asyncio.Event().wait()

    agent = make_agent("done", get_steering_messages=wait)
    run = asyncio.create_task(agent.prompt("go"))
    await waits.wait()
    agent.abort()

    assert (await run).stop_reason == "aborted"


async def test_subagents_do_not_poll_the_callbacks_of_their_caller(make_agent, record):
    polls: list[bool] = []
    model = cast({"go": [delegates("dig"), "Thanks."], "dig": [calls("look"), "Found it."]})
    agent = make_agent(
        model=model,
        tools=[DelegateTool(), SimpleTool("look")],
        get_steering_messages=lambda: polls.append(bool(agent.pending_tool_calls)),
    )
    seen = record(agent)

    await agent.prompt("go")

    assert seen.of(SubagentEvent)
    assert polls == [True, False, False]
